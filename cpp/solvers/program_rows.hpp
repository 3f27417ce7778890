#pragma once

#include <span>

namespace gpusched {

/// A way to go on in a row of a dynamic program: what it costs, and what then is to be paid for each
/// number of quanta that was left before it.
struct RowTransition {
  double cost;
  const double* after;
};

/// Sets out[left], for `left` in [first, last], to the minimum of init[left] and of cost +
/// after[left] over the ways; `init` may be `out`, and null: infinity. The same bits on every
/// machine.
void relax(double* out, const double* init, std::span<const RowTransition> ways, int first,
           int last) noexcept;

}  // namespace gpusched
