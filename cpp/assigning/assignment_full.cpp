#include <algorithm>

#include "assigning/assignment.hpp"
#include "assigning/full_rows.hpp"
#include "base/infinity.hpp"

namespace gpusched {

/// As `bid`, among all columns.
std::int32_t Assignment::bid_on_all(std::size_t row) {
  const double* const cost = cost_[row];
  const auto [value, best] = two_least(cost, column_dual_.data(), num_columns_, taken_.data());
  if (value.second == kInfinity) return -1;
  const auto column = static_cast<std::size_t>(best);
  taken_[column] = -1;
  return take(row, column, cost[column], column_dual_[column] - (value.second - value.least));
}

/// Assigns the row `source` along a shortest path of reduced costs, as `augment`, where to look at
/// all columns costs less than to know which of them to look at.
void Assignment::augment_on_all(std::size_t source) {
  done_.clear();
  touched_.clear();
  idle_base_ = kInfinity;
  std::fill_n(open_.begin(), num_columns_, kInfinity);
  double* const dual = column_dual_.data();
  std::size_t row = source;
  double base = 0;
  floor_ = -kInfinity;
  for (;;) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    const LeastColumns near = reach_all({base, cost_[row], dual}, id(row), floor_, num_columns_,
                                        taken_.data(), {open_.data(), from_.data()});
    if (near.free <= near.taken) {
      end_ = static_cast<std::int32_t>(near.free_column);
      bound_ = near.free;
      break;
    }
    const auto column = static_cast<std::size_t>(near.taken_column);
    floor_ = distance_[column] = near.taken;
    before_[column] = static_cast<std::int32_t>(from_[column]);
    open_[column] = -kInfinity;
    done_.push_back(id(column));
    row = at(row_of_[column]);
    base = floor_ - row_dual(row);
  }
  if (end_ < 0) fail_unassigned();
  before_[at(end_)] = static_cast<std::int32_t>(from_[at(end_)]);
  taken_[at(end_)] = -1;
  touched_ = done_;
  finish_path(source);
}

}  // namespace gpusched
