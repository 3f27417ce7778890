#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "assigning/least_pair.hpp"

namespace gpusched {

// Loops over a row of costs, in lanes as wide as the processor takes at once: the same bits on
// every machine.

/// Columns that are taken at once: blocks of multiples of these have no rest.
inline constexpr std::size_t kStep = 8;

struct Magnitudes {
  double greatest;  ///< of those up to `kMostCost`
  bool are_costs;   ///< whether all others are infinity
};

[[nodiscard]] Magnitudes magnitudes_of(std::span<const double> cost) noexcept;

/// The least cost - dual of each block of `size` columns; the last one may be shorter.
void find_block_minima(std::span<const double> cost, const double* dual, std::size_t size,
                       double* least) noexcept;

/// The same of costs that nobody has looked at, with duals of 0, and `magnitudes_of` them.
[[nodiscard]] Magnitudes find_new_minima(std::span<const double> cost, std::size_t size,
                                         double* least) noexcept;

/// The least of each block of `size` values; the last one may be shorter.
void find_block_minima(std::span<const double> values, std::size_t size, double* least) noexcept;

/// The value that stands at `rank`, from 0 on, when they are sorted. For few of them.
[[nodiscard]] double value_at_rank(std::span<const double> values, std::size_t rank) noexcept;

/// The two least values, of which one may be there twice.
[[nodiscard]] LeastPair<double> least_two(std::span<const double> values) noexcept;

/// Writes those of the columns [begin, end) whose cost - dual is at most `limit`, and returns how
/// many. There must be room for one more.
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
