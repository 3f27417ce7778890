#include <algorithm>
#include <cmath>
#include <limits>

#include "assigning/assignment.hpp"
#include "assigning/cost_rows.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kLeastRows = 32;  // fewer are assigned as soon
constexpr std::size_t kLeastLasting = 128;
constexpr std::size_t kStride = 4;  // one row, and one column, of so many are a sample
constexpr std::size_t kLeftOver = 10;  // one row of so many is left over
constexpr std::size_t kFewIdle = 16;  // one column more for so many rows
constexpr std::size_t kMostIdle = 16;  // columns a row, or the square is far larger than the costs
constexpr std::size_t kDearest = 16;  // one column of so many
constexpr int kEpsilons = 3;
constexpr double kQuotient = 8;

}  // namespace

/// Begins anew from better duals where paths would be long: where rows want the same columns most of
/// them are left over by their bids, and where many still outbid each other the bids are spent.
void Assignment::improve_start(bool are_bids_spent) {
  const bool is_lasting = start_ == Start::lasting;
  if (num_rows_ < (is_lasting ? kLeastLasting : kLeastRows)) return;
  const auto num_left =
      static_cast<std::size_t>(std::count(column_of_.begin(), column_of_.end(), -1));
  const bool agree = 2 * num_left > num_rows_;
  const bool compete =
      !is_lasting && !has_few_columns_ && are_bids_spent && kLeftOver * num_left > num_rows_;
  if (num_rows_ < num_columns_) {
    const bool has_few_idle = kFewIdle * (num_columns_ - num_rows_) < num_rows_;
    if (is_lasting || (!agree && !(compete && has_few_idle))) return;
    if (agree && solve_on_cheap_columns()) return;
    if (num_columns_ > kMostIdle * num_rows_) return;
    add_idle_rows();
  }
  if (agree && start_from_sample()) {
    hold_auction(0.0);
  } else if (compete) {
    lower_epsilon();
  }
}

/// On so few columns that the others do not matter: of its cheapest ones, one more than there are
/// rows, no row finds all taken, so that it wants none that is dearer. False where all rows together
/// need most columns.
bool Assignment::solve_on_cheap_columns() {
  const std::size_t most = num_columns_ - num_columns_ / kStride;
  is_cheap_.assign(num_columns_, 0);
  std::size_t count = 0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    if (kind_[row] == id(row)) count += mark_cheap_columns(row);
    if (count > most) return false;
  }
  cheap_.clear();
  for (std::size_t column = 0; column < num_columns_; ++column) {
    if (is_cheap_[column] != 0) cheap_.push_back(id(column));
  }
  smaller_cost_.resize(num_rows_ * count);
  double* out = smaller_cost_.data();
  for (std::size_t row = 0; row < num_rows_; ++row) {
    for (const std::int32_t column : cheap_) *out++ = cost_[row][at(column)];
  }
  take_over(solve_smaller(num_rows_, count));
  return true;
}

/// Returns how many columns this row needs that no row before it needed.
std::size_t Assignment::mark_cheap_columns(std::size_t row) {
  const double* const cost = cost_[row];
  std::copy_n(cost, num_columns_, order_.begin());
  const auto last = order_.begin() + static_cast<std::ptrdiff_t>(num_rows_);
  std::nth_element(order_.begin(), last, order_.end());
  const double limit = std::min(*last, std::numeric_limits<double>::max());
  std::size_t num_marked = 0;
  std::size_t num_enough = 0;
  const auto mark = [&](std::size_t column) {
    num_marked += is_cheap_[column] == 0 ? 1 : 0;
    is_cheap_[column] = 1;
    ++num_enough;
  };
  for (std::size_t column = 0; column < num_columns_; ++column) {
    if (cost[column] < limit || (cost[column] == limit && is_cheap_[column] != 0)) mark(column);
  }
  for (std::size_t column = 0; column < num_columns_ && num_enough <= num_rows_; ++column) {
    if (cost[column] == limit && is_cheap_[column] == 0) mark(column);
  }
  return num_marked;
}

/// Of the costs that were gathered.
const Assignment::Result& Assignment::solve_smaller(std::size_t rows, std::size_t columns) {
  if (smaller_.empty()) smaller_.emplace_back(start_);
  Assignment& smaller = smaller_.front();
  smaller.listen_to(stop_);
  return smaller.solve(smaller_cost_, id(rows), id(columns));
}

/// The solution on the cheap columns.
void Assignment::take_over(const Result& found) {
  coarsest_ = std::max(coarsest_, smaller_.front().coarsest_);
  std::fill(column_dual_.begin(), column_dual_.end(), 0.0);
  std::fill(row_of_.begin(), row_of_.end(), -1);
  for (std::size_t i = 0; i < cheap_.size(); ++i) {
    column_dual_[at(cheap_[i])] = found.column_dual[i];
  }
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    column_of_[row] = cheap_[at(found.column_of_row[row])];
    row_of_[at(column_of_[row])] = id(row);
    own_cost_[row] = cost_[row][at(column_of_[row])];
    list_candidates(row);
  }
}

/// Square: those who get the columns that are left over cost nothing.
void Assignment::add_idle_rows() {
  const std::size_t num_own_rows = num_rows_;
  num_rows_ = num_columns_;
  idle_cost_.assign(num_columns_, 0.0);
  cost_.resize(num_rows_, idle_cost_.data());
  resize_rows();
  for (std::size_t row = num_own_rows; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    kind_[row] = id(num_own_rows);
    list_candidates(row);
  }
}

/// A column that is left over has a dual of 0 again, which is the greatest.
void Assignment::drop_idle_rows(std::size_t num_own_rows) {
  if (num_rows_ == num_own_rows) return;
  const double shift = *std::max_element(column_dual_.begin(), column_dual_.end());
  for (double& dual : column_dual_) dual -= shift;
  lists_.shift_rests(shift);
  for (std::size_t row = num_own_rows; row < num_rows_; ++row) {
    const std::size_t column = at(column_of_[row]);
    column_dual_[column] = 0;
    row_of_[column] = -1;
  }
  num_rows_ = num_own_rows;
  cost_.resize(num_rows_);
  resize_rows();
}

/// By auctions whose epsilon falls: rows that would outbid each other by little do so by much. From
/// what all but few columns are cheaper than: one that some row cannot do without may be very dear.
void Assignment::lower_epsilon() {
  const auto dear = order_.begin() + static_cast<std::ptrdiff_t>(num_columns_ / kDearest);
  std::copy(column_dual_.begin(), column_dual_.end(), order_.begin());
  std::nth_element(order_.begin(), dear, order_.end());
  double epsilon = -*dear;
  if (epsilon == 0) return;
  for (int i = 0; i < kEpsilons; ++i) {
    hold_auction(epsilon);
    epsilon /= kQuotient;
  }
  hold_auction(0.0);
}

/// Begins anew from the duals of every fourth row and column, solved likewise: each column is as
/// dear as the sampled rows allow. False where forbidden pairs leave them undefined.
bool Assignment::start_from_sample() {
  const std::size_t size = num_rows_ / kStride;
  smaller_cost_.resize(size * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < size; ++j) {
      const double cost = cost_[i * kStride][j * kStride];
      if (cost == kInfinity) return false;
      smaller_cost_[i * size + j] = cost;
    }
  }
  const Result& found = solve_smaller(size, size);
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
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    list_candidates(row);
  }
  return true;
}

}  // namespace gpusched
