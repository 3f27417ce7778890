#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/infinity.hpp"

namespace gpusched {

/// Loops over indices that go on in several lanes, so that the compiler may take them at once
/// and no lane waits for another. Their results do not depend on the order.
inline constexpr std::size_t kLanes = 8;

/// The least value of an index; infinity for no index. A NaN is left out.
template <class Function>
double least_over(std::size_t begin, std::size_t end, const Function& value) noexcept {
  std::array<double, kLanes> least;
  least.fill(kInfinity);
  for (; begin + kLanes <= end; begin += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double each = value(begin + lane);
      least[lane] = each < least[lane] ? each : least[lane];
    }
  }
  for (; begin < end; ++begin) {
    const double each = value(begin);
    least[0] = each < least[0] ? each : least[0];
  }
  return *std::min_element(least.begin(), least.end());
}

/// Whether it holds for an index, without a branch for each.
template <class Test>
bool holds_somewhere(std::size_t begin, std::size_t end, const Test& holds) noexcept {
  std::array<double, kLanes> count{};
  for (; begin + kLanes <= end; begin += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      count[lane] += holds(begin + lane) ? 1.0 : 0.0;
    }
  }
  for (; begin < end; ++begin) count[0] += holds(begin) ? 1.0 : 0.0;
  return std::any_of(count.begin(), count.end(), [](double each) { return each > 0; });
}

}  // namespace gpusched
