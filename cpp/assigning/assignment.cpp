#include "assigning/assignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "assigning/cost_rows.hpp"
#include "assigning/magnitudes.hpp"
#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"

namespace gpusched {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::size_t kMostBlocks = 64;   // of the columns, each with its minimum
constexpr std::size_t kListed = 16;       // blocks whose minima are surely candidates
constexpr std::size_t kFirstListed = 10;  // the same of rows that may never be listed again
constexpr std::size_t kBidsPerRow = 16;
constexpr std::size_t kTile = 8;  // columns at once: a cache line of what is written

}  // namespace

const Assignment::Result& Assignment::solve(std::span<const double> cost, int rows, int columns) {
  is_solved_ = false;
  load(cost, rows, columns);
  run();
  report();
  return result_;
}

/// From scratch, at the costs there are.
void Assignment::run() {
  is_solved_ = false;
  clear();
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    if (!is_transposed_) greatest_[row] = check({cost_[row], num_columns_}, row);
    const bool is_new =
        row == 0 || !std::equal(cost_[row], cost_[row] + num_columns_, cost_[row - 1]);
    kind_[row] = is_new ? id(row) : kind_[row - 1];
    list_candidates(row, start_ == Start::best ? kFirstListed : kListed);
  }
  const std::size_t num_own_rows = num_rows_;
  improve_start(hold_auction(0.0));
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (column_of_[row] < 0) augment(row, -1);
  }
  drop_idle_rows(num_own_rows);
  const double greatest = greatest_cost();
  coarsest_ = std::max(coarsest_, greatest);
  for (const double dual : column_dual_) coarsest_ = std::max(coarsest_, -dual);
  usual_ratio_ = greatest > 0 ? coarsest_ / greatest : 1.0;
  is_solved_ = true;
}

double Assignment::greatest_cost() const noexcept {
  return *std::max_element(greatest_.begin(), greatest_.end());
}

void Assignment::load(std::span<const double> cost, int rows, int columns) {
  if (rows < 1 || columns < 1 || cost.size() != at(rows) * at(columns)) {
    fail_input("assignment: a cost for each of at least one row and column");
  }
  is_transposed_ = rows > columns;
  num_rows_ = at(std::min(rows, columns));
  num_columns_ = at(std::max(rows, columns));
  greatest_.resize(at(rows));
  const double* first = cost.data();
  if (is_transposed_) {
    for (std::size_t row = 0; row < at(rows); ++row) {
      greatest_[row] = check(cost.subspan(row * at(columns), at(columns)), row);
    }
    transposed_.resize(cost.size());
    transpose(cost.data());
    first = transposed_.data();
  }
  cost_.resize(num_rows_);
  for (std::size_t row = 0; row < num_rows_; ++row) cost_[row] = first + row * num_columns_;
}

/// By tiles, so that what is read of a cache line is read while it is there.
void Assignment::transpose(const double* cost) noexcept {
  for (std::size_t begin = 0; begin < num_columns_; begin += kTile) {
    const std::size_t end = std::min(begin + kTile, num_columns_);
    for (std::size_t row = 0; row < num_rows_; ++row) {
      double* const out = &transposed_[row * num_columns_];
      for (std::size_t column = begin; column < end; ++column) {
        out[column] = cost[column * num_rows_ + row];
      }
    }
  }
}

/// Throws unless all costs of the row are costs.
double Assignment::check(std::span<const double> cost, std::size_t row) {
  const Magnitudes found = magnitudes_of(cost);
  if (found.are_costs) return found.greatest;
  const auto bad = std::find_if(cost.begin(), cost.end(), [](double each) {
    return !(std::fabs(each) <= kMostCost || each == kInfinity);
  });
  const bool is_large = std::isfinite(*bad);
  fail_input("assignment: cost of row " + std::to_string(row) + ", column " +
             std::to_string(bad - cost.begin()) + ": " + text_of(*bad) +
             (is_large ? " is beyond 1e300" : " is neither a number nor infinity"));
}

void Assignment::clear() {
  column_dual_.assign(num_columns_, 0.0);
  row_of_.assign(num_columns_, -1);
  column_of_.clear();
  next_listing_.clear();
  last_search_.clear();
  resize_rows();
  found_.resize(num_columns_ + 1);
  equal_.resize(num_columns_ + 1);
  reduced_.resize(num_columns_);
  order_.resize(num_columns_);
  distance_.assign(num_columns_, kInfinity);
  before_.resize(num_columns_);
  search_ = 0;
  coarsest_ = 0;
}

/// Makes room for as many rows as there are.
void Assignment::resize_rows() {
  column_of_.resize(num_rows_, -1);
  own_cost_.resize(num_rows_);
  candidates_.resize(num_rows_ * kMostCandidates);
  num_candidates_.resize(num_rows_);
  rest_.resize(num_rows_);
  base_.resize(num_rows_);
  next_listing_.resize(num_rows_, 0);
  kind_.resize(num_rows_);
  last_search_.resize(2 * num_rows_, 0);
}

void Assignment::list_candidates(std::size_t row) { list_candidates(row, kListed); }

/// The columns of least reduced cost, and a bound on all others.
void Assignment::list_candidates(std::size_t row, std::size_t num_listed) {
  const double* const cost = cost_[row];
  const double* const dual = column_dual_.data();
  const std::size_t size = kStep * ((num_columns_ - 1) / (kStep * kMostBlocks) + 1);
  const std::size_t num_blocks = (num_columns_ - 1) / size + 1;
  std::array<double, kMostBlocks> least{};
  find_block_minima({cost, num_columns_}, dual, size, least.data());
  double limit = kInfinity;
  if (num_blocks > num_listed) limit = value_at_rank({least.data(), num_blocks}, num_listed - 1);
  const double largest = std::min(limit, kLargest);
  std::size_t count = 0;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    if (least[block] > largest) continue;
    const std::size_t begin = block * size;
    while (block + 1 < num_blocks && least[block + 1] <= largest) ++block;
    const std::size_t end = std::min((block + 1) * size, num_columns_);
    count += find_up_to(largest, cost, dual, begin, end, &found_[count]);
  }
  rest_[row] = limit;
  if (count > kMostCandidates) {
    keep_cheapest(row, count);
    count = kMostCandidates;
  }
  num_candidates_[row] = static_cast<std::uint32_t>(count);
  Candidate* const list = &candidates_[row * kMostCandidates];
  for (std::size_t i = 0; i < count; ++i) list[i] = {cost[at(found_[i])], found_[i]};
}

/// Keeps the cheapest of the found columns; of those at the limit, the ones from a column on that
/// differs from row to row, lest all rows want the same.
void Assignment::keep_cheapest(std::size_t row, std::size_t count) {
  const double* const cost = cost_[row];
  const double* const dual = column_dual_.data();
  double* const reduced = reduced_.data();
  for (std::size_t i = 0; i < count; ++i) reduced[i] = cost[at(found_[i])] - dual[at(found_[i])];
  double limit = rest_[row];
  const auto num_below =
      std::count_if(reduced, reduced + count, [=](double each) { return each < limit; });
  if (static_cast<std::size_t>(num_below) >= kMostCandidates) {
    double* const order = order_.data();
    std::copy_n(reduced, count, order);
    std::nth_element(order, order + kMostCandidates - 1, order + count);
    limit = rest_[row] = order[kMostCandidates - 1];
  }
  std::size_t num_kept = 0;
  std::size_t num_equal = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t column = found_[i];
    found_[num_kept] = equal_[num_equal] = column;
    num_kept += reduced[i] < limit ? 1 : 0;
    num_equal += reduced[i] == limit ? 1 : 0;
  }
  std::size_t next = num_equal * row / num_rows_;
  for (; num_kept < kMostCandidates; ++num_kept) {
    found_[num_kept] = equal_[next];
    if (++next == num_equal) next = 0;
  }
}

/// Assigns most rows at little cost, and lowers duals on the way. Returns whether the bids were spent
/// before all rows had their turn.
bool Assignment::hold_auction(double epsilon) {
  std::fill(row_of_.begin(), row_of_.end(), -1);
  std::fill(column_of_.begin(), column_of_.end(), -1);
  std::size_t num_left = kBidsPerRow * num_rows_;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    for (std::int32_t next = id(row); next >= 0 && num_left > 0; --num_left) {
      if (stop_ != nullptr) stop_->count(kMostCandidates);
      next = bid(at(next), epsilon);
    }
  }
  return num_left == 0;
}

/// Gives the row its cheapest column, whose dual falls until the second cheapest is better by
/// epsilon. Returns who had it, or -1.
std::int32_t Assignment::bid(std::size_t row, double epsilon) {
  double least = kInfinity;
  double second = kInfinity;
  Candidate best{};
  const auto look = [&] {
    least = second = kInfinity;
    for (const Candidate& each : candidates(row)) {
      const double reduced = each.cost - column_dual_[at(each.column)];
      if (reduced < least) {
        second = least;
        least = reduced;
        best = each;
      } else if (reduced <= second) {
        second = reduced;
        const bool is_free = row_of_[at(each.column)] < 0 && row_of_[at(best.column)] >= 0;
        if (reduced == least && is_free) best = each;
      }
    }
  };
  look();
  if (second > rest_[row]) {
    list_candidates(row);
    look();
  }
  if (second == kInfinity) return -1;
  double& dual = column_dual_[at(best.column)];
  const double lower = dual - (second - least) - epsilon;
  const std::int32_t owner = row_of_[at(best.column)];
  if (lower >= dual && owner >= 0) return -1;
  dual = lower;
  row_of_[at(best.column)] = id(row);
  column_of_[row] = best.column;
  own_cost_[row] = best.cost;
  if (owner >= 0) column_of_[at(owner)] = -1;
  return owner;
}

const Assignment::Result& Assignment::change_row(int row, std::span<const double> cost) {
  if (!is_solved_) fail_input("assignment: there is no solution to change");
  const std::size_t num_user_rows = is_transposed_ ? num_columns_ : num_rows_;
  const std::size_t width = is_transposed_ ? num_rows_ : num_columns_;
  if (row < 0 || at(row) >= num_user_rows || cost.size() != width) {
    fail_input("assignment: a row there is, with a cost for each column");
  }
  greatest_[at(row)] = check(cost, at(row));
  is_solved_ = false;  // until it is again
  if (is_transposed_) {
    for (std::size_t i = 0; i < num_rows_; ++i) transposed_[i * num_columns_ + at(row)] = cost[i];
  } else {
    if (changed_.size() < num_rows_) changed_.resize(num_rows_);
    changed_[at(row)].assign(cost.begin(), cost.end());
    cost_[at(row)] = changed_[at(row)].data();
  }
  if (coarsest_ > kCoarse * usual_ratio_ * greatest_cost()) {
    run();
  } else if (is_transposed_) {
    renew_column(at(row));
  } else {
    renew_row(at(row));
  }
  is_solved_ = true;
  report();
  return result_;
}

void Assignment::renew_row(std::size_t row) {
  const std::int32_t freed = column_of_[row];
  column_of_[row] = -1;
  row_of_[at(freed)] = -1;
  kind_[row] = id(row + num_rows_);
  list_candidates(row);
  const bool must_go = num_rows_ < num_columns_ && column_dual_[at(freed)] < 0;
  augment(row, must_go ? freed : -1);
}

void Assignment::renew_column(std::size_t column) {
  const std::int32_t owner = row_of_[column];
  double dual = 0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (id(row) != owner) dual = std::min(dual, cost_[row][column] - row_dual(row));
  }
  column_dual_[column] = dual;
  coarsest_ = std::max(coarsest_, -dual);
  for (std::size_t row = 0; row < num_rows_; ++row) {
    kind_[row] = id(row);
    const auto list = candidates(row);
    const auto found = std::find_if(list.begin(), list.end(), [&](const Candidate& each) {
      return each.column == id(column);
    });
    if (found != list.end()) {
      found->cost = cost_[row][column];
    } else {
      rest_[row] = std::min(rest_[row], cost_[row][column] - dual);
    }
  }
  row_of_[column] = -1;
  const std::int32_t target = dual < 0 ? id(column) : -1;
  if (owner >= 0) {
    column_of_[at(owner)] = -1;
    augment(at(owner), target);
  } else if (target >= 0) {
    augment(num_rows_, target);
  }
}

void Assignment::report() {
  auto& inner_dual = is_transposed_ ? result_.column_dual : result_.row_dual;
  auto& outer_dual = is_transposed_ ? result_.row_dual : result_.column_dual;
  inner_dual.resize(num_rows_);
  result_.cost = 0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    inner_dual[row] = row_dual(row);
    result_.cost += own_cost_[row];
  }
  outer_dual = column_dual_;
  result_.column_of_row = is_transposed_ ? row_of_ : column_of_;
}

}  // namespace gpusched
