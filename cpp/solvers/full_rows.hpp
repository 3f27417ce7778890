#pragma once

#include <cstddef>
#include <cstdint>

#include "solvers/cost_rows.hpp"

namespace gpusched {

// Loops over all columns of a row, for problems so small that to choose among them takes longer
// than to look at each: the same bits on every machine. Of equal columns the first one is found.

/// Which columns a row has: 0, or -1 (all bits) of those that some row has.
using TakenColumns = const std::int64_t*;

/// The columns that a path has come to, by column.
struct OpenColumns {
  double* distance;    ///< infinity: not reached; -infinity: gone on from
  std::int64_t* from;  ///< the row from which it is reached
};

/// The lowest values over unassigned and over assigned columns; infinity: there is none, and its
/// column is -1.
struct LeastColumns {
  double free = 0;
  double taken = 0;
  std::int64_t free_column = -1;
  std::int64_t taken_column = -1;
};

/// The two lowest cost - dual, and a column of the lowest, unassigned if possible.
struct TwoLeast {
  LeastPair<double> value;
  std::int64_t column = -1;
};

[[nodiscard]] TwoLeast two_least(const double* cost, const double* dual, std::size_t count,
                                 TakenColumns taken) noexcept;

/// Reaches every open column from a row, no nearer than `floor`, and returns the nearest.
[[nodiscard]] LeastColumns reach_all(const Reach& reach, std::int64_t row, double floor,
                                     std::size_t count, TakenColumns taken,
                                     const OpenColumns& open) noexcept;

}  // namespace gpusched
