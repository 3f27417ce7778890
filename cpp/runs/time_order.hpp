#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Indices of the times in ascending order, ties by index: a radix sort in linear time. Throws
/// std::invalid_argument for 2^32 or more times.
[[nodiscard]] std::vector<std::uint32_t> time_order(std::span<const std::int64_t> time_us);

}  // namespace gpusched
