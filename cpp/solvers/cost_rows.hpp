#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {

/// The two lowest values seen, by lane for SIMD types; infinity if there were fewer. Inlined into
/// functions that are compiled for different processors.
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

/// The minimum of four lanes, combined in a fixed order for any number of registers.
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

// Loops over a row of costs, in lanes as wide as the processor takes at once: the same bits on
// every machine.

/// Columns that are taken at once: blocks of multiples of these have no rest.
inline constexpr std::size_t kStep = 8;

struct Magnitudes {
  double greatest;  ///< of those up to `kMostCost`
  bool are_costs;   ///< whether all others are infinity
};

[[nodiscard]] Magnitudes magnitudes_of(std::span<const double> cost) noexcept;

/// The lowest cost - dual of each block of `size` columns; the last one may be shorter.
void find_block_minima(std::span<const double> cost, const double* dual, std::size_t size,
                       double* least) noexcept;

/// The same for unread costs, with duals of 0, plus their `magnitudes_of`.
[[nodiscard]] Magnitudes find_new_minima(std::span<const double> cost, std::size_t size,
                                         double* least) noexcept;

/// The lowest of each block of `size` values; the last one may be shorter.
void find_block_minima(std::span<const double> values, std::size_t size, double* least) noexcept;

/// The value at `rank`, from 0 on, in sorted order. For few values.
[[nodiscard]] double value_at_rank(std::span<const double> values, std::size_t rank) noexcept;

/// The two lowest values, counting duplicates.
[[nodiscard]] LeastPair<double> least_two(std::span<const double> values) noexcept;

/// Writes those of the columns [begin, end) whose cost - dual is at most `limit`, and returns their
/// number. There must be room for one more.
[[nodiscard]] std::size_t find_up_to(double limit, const double* cost, const double* dual,
                                     std::size_t begin, std::size_t end,
                                     std::int32_t* columns) noexcept;

/// A row from which columns are reached at base + (cost - dual).
struct Reach {
  double base;
  const double* cost;
  const double* dual;
};

/// Whether a column of [begin, end) is nearer than it was `known` to be, and than `bound`.
[[nodiscard]] bool comes_nearer(const Reach& reach, const double* known, double bound,
                                std::size_t begin, std::size_t end) noexcept;

}  // namespace gpusched
