#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Indices of the times in ascending order, equal ones by index: sorted digit by digit, in time that
/// grows as their number. std::invalid_argument where there are more than 32 bits can count.
[[nodiscard]] std::vector<std::uint32_t> time_order(std::span<const std::int64_t> time_us);

}  // namespace gpusched
