#include <algorithm>
#include <cmath>

#include "base/infinity.hpp"
#include "solvers/assignment.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kLeastSampled = 128;  // rows; fewer are assigned as soon
constexpr std::size_t kStride = 4;          // one row, and one column, of so many

}  // namespace

/// Whether paths would be long: rows that want the same columns are left over by their bids.
bool Assignment::needs_sample() const noexcept {
  if (num_rows_ != num_columns_ || num_rows_ < kLeastSampled) return false;
  const auto num_left = std::count(column_of_.begin(), column_of_.end(), -1);
  return 2 * static_cast<std::size_t>(num_left) > num_rows_;
}

/// Begins anew from the duals of every fourth row and column, solved likewise: each column is as
/// dear as the sampled rows allow. False where forbidden pairs leave them undefined.
bool Assignment::start_from_sample() {
  const std::size_t size = num_rows_ / kStride;
  sampled_cost_.resize(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double cost = cost_[i * kStride][j * kStride];
      if (cost == kInfinity) return false;
      sampled_cost_[i * size + j] = cost;
    }
  }
  if (sample_.empty()) sample_.resize(1);
  Assignment& sample = sample_.front();
  sample.listen_to(stop_);
  const Result& found = sample.solve(sampled_cost_, id(size), id(size));
  std::fill(order_.begin(), order_.end(), kInfinity);
  for (std::size_t i = 0; i < size; ++i) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    const double* const cost = cost_[i * kStride];
    const double dual = found.row_dual[i];
    for (std::size_t column = 0; column < num_columns_; ++column) {
      const double most = cost[column] - dual;
      order_[column] = most < order_[column] ? most : order_[column];
    }
  }
  const double greatest = *std::max_element(order_.begin(), order_.end());
  if (!std::isfinite(greatest)) return false;
  for (std::size_t column = 0; column < num_columns_; ++column) {
    column_dual_[column] = order_[column] - greatest;
  }
  std::fill(row_of_.begin(), row_of_.end(), -1);
  std::fill(column_of_.begin(), column_of_.end(), -1);
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    list_candidates(row);
  }
  return true;
}

}  // namespace gpusched
