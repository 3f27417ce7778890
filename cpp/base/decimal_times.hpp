#pragma once

#include <cmath>
#include <cstdint>

namespace gpusched {

/// A parameter times a count of at least 1, rounded down, exact for what the user wrote: 0.29 x 100
/// is 29, though the double that stands for 0.29 is less. The product is a whole number where the
/// parameter is the double nearest to that number over the count.
[[nodiscard]] inline std::int64_t floor_times(double factor, std::int64_t count) noexcept {
  const auto divisor = static_cast<double>(count);
  const double nearest = std::nearbyint(factor * divisor);
  return static_cast<std::int64_t>(nearest) - (factor < nearest / divisor ? 1 : 0);
}

/// The same, rounded up.
[[nodiscard]] inline std::int64_t ceil_times(double factor, std::int64_t count) noexcept {
  return -floor_times(-factor, count);
}

}  // namespace gpusched
