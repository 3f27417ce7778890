#pragma once

#include <array>
#include <cstddef>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {

/// The two least of the values seen, lane by lane where there are lanes; infinity where there were
/// fewer. Inlined into functions that are compiled for different processors.
template <class Value>
struct LeastPair {
  Value least = Value{} + kInfinity;
  Value second = Value{} + kInfinity;

  [[gnu::always_inline]] void take(const Value& each) noexcept {
    const Value later = each < least ? least : each;
    least = each < least ? each : least;
    second = later < second ? later : second;
  }

  [[gnu::always_inline]] void join(const LeastPair& other) noexcept {
    take(other.least);
    second = other.second < second ? other.second : second;
  }
};

/// That of four lanes, which are joined in one order in however many registers they stand.
template <class Lanes>
[[gnu::always_inline]] inline LeastPair<double> joined(const LeastPair<Lanes>* pairs) noexcept {
  constexpr std::size_t kLanes = 4;
  constexpr std::size_t kWidth = kNumLanes<Lanes>;
  std::array<double, kLanes> least;
  std::array<double, kLanes> second;
  for (std::size_t i = 0; i < kLanes / kWidth; ++i) {
    put(&least[i * kWidth], pairs[i].least);
    put(&second[i * kWidth], pairs[i].second);
  }
  LeastPair<double> front{least[0], second[0]};
  LeastPair<double> back{least[1], second[1]};
  front.join({least[2], second[2]});
  back.join({least[3], second[3]});
  front.join(back);
  return front;
}

}  // namespace gpusched
