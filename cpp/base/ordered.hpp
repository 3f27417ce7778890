#pragma once

#include <bit>
#include <cstdint>

namespace gpusched {

/// Compares with others as the numbers do, whole or not.
constexpr std::int64_t ordered(double number) noexcept {
  const auto size = std::bit_cast<std::int64_t>(number < 0 ? -number : number + 0.0);
  return number < 0 ? -size : size;
}

/// The number, but for the sign of 0.
constexpr double number_of(std::int64_t ordered) noexcept {
  return ordered < 0 ? -std::bit_cast<double>(-ordered) : std::bit_cast<double>(ordered);
}

}  // namespace gpusched
