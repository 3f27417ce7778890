#include "solvers/assignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"
#include "solvers/lanes.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::size_t kMostBlocks = 64;  // of the columns, each with its minimum
constexpr std::size_t kListed = 16;      // blocks whose minima are surely candidates
constexpr std::size_t kBidsPerRow = 16;

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
    list_candidates(row);
  }
  reduce_rows();
  if (needs_sample() && start_from_sample()) reduce_rows();
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (column_of_[row] < 0) augment(row, -1);
  }
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
    for (std::size_t row = 0; row < num_rows_; ++row) {
      for (std::size_t column = 0; column < num_columns_; ++column) {
        transposed_[row * num_columns_ + column] = cost[column * num_rows_ + row];
      }
    }
    first = transposed_.data();
  }
  cost_.resize(num_rows_);
  for (std::size_t row = 0; row < num_rows_; ++row) cost_[row] = first + row * num_columns_;
}

/// Throws unless all costs of the row are costs.
double Assignment::check(std::span<const double> cost, std::size_t row) {
  std::array<double, kLanes> greatest{};
  std::array<double, kLanes> bad_ones{};
  const auto look = [&](std::size_t lane, double each) {
    const double magnitude = std::fabs(each);
    const bool is_number = magnitude <= kMostCost;
    const double finite = is_number ? magnitude : 0.0;
    greatest[lane] = finite > greatest[lane] ? finite : greatest[lane];
    bad_ones[lane] += is_number || each == kInfinity ? 0.0 : 1.0;
  };
  std::size_t i = 0;
  for (; i + kLanes <= cost.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) look(lane, cost[i + lane]);
  }
  for (; i < cost.size(); ++i) look(0, cost[i]);
  const bool is_good =
      std::all_of(bad_ones.begin(), bad_ones.end(), [](double count) { return count == 0.0; });
  if (is_good) return *std::max_element(greatest.begin(), greatest.end());
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
  column_of_.assign(num_rows_, -1);
  own_cost_.resize(num_rows_);
  candidates_.resize(num_rows_ * kMostCandidates);
  num_candidates_.resize(num_rows_);
  rest_.resize(num_rows_);
  scratch_.resize(num_columns_ + 1);
  order_.resize(num_columns_);
  distance_.assign(num_columns_, kInfinity);
  before_.resize(num_columns_);
  base_.resize(num_rows_);
  next_listing_.assign(num_rows_, 0);
  kind_.resize(num_rows_);
  last_search_.assign(2 * num_rows_, 0);
  search_ = 0;
  coarsest_ = 0;
}

/// The columns of least reduced cost, and a bound on all others.
void Assignment::list_candidates(std::size_t row) {
  const double* const cost = cost_[row];
  const double* const dual = column_dual_.data();
  const std::size_t size = kLanes * ((num_columns_ - 1) / (kLanes * kMostBlocks) + 1);
  const std::size_t num_blocks = (num_columns_ - 1) / size + 1;
  std::array<double, kMostBlocks> least{};
  const auto reduced = [=](std::size_t column) { return cost[column] - dual[column]; };
  for (std::size_t block = 0; block < num_blocks; ++block) {
    const std::size_t begin = block * size;
    least[block] = least_over(begin, std::min(begin + size, num_columns_), reduced);
  }
  double limit = kInfinity;
  if (num_blocks > kListed) {
    std::array<double, kMostBlocks> order = least;
    const auto last = order.begin() + kListed - 1;
    std::nth_element(order.begin(), last, order.begin() + static_cast<std::ptrdiff_t>(num_blocks));
    limit = *last;
  }
  const double largest = std::min(limit, kLargest);
  std::size_t count = 0;
  for (std::size_t block = 0; block < num_blocks; ++block) {
    if (least[block] > largest) continue;
    const std::size_t end = std::min((block + 1) * size, num_columns_);
    for (std::size_t column = block * size; column < end; ++column) {
      scratch_[count] = {cost[column], id(column)};
      count += reduced(column) <= largest ? 1 : 0;
    }
  }
  rest_[row] = limit;
  if (count > kMostCandidates) {
    keep_cheapest(row, count);
    count = kMostCandidates;
  }
  num_candidates_[row] = static_cast<std::uint32_t>(count);
  std::copy_n(scratch_.begin(), count, &candidates_[row * kMostCandidates]);
}

/// Brings the cheapest of the found columns to the front; of those at the limit, the ones from a
/// column on that differs from row to row, lest all rows want the same.
void Assignment::keep_cheapest(std::size_t row, std::size_t count) {
  const auto reduced = [&](const Candidate& each) {
    return each.cost - column_dual_[at(each.column)];
  };
  const auto end = scratch_.begin() + static_cast<std::ptrdiff_t>(count);
  std::transform(scratch_.begin(), end, order_.begin(), reduced);
  const auto last = order_.begin() + kMostCandidates - 1;
  std::nth_element(order_.begin(), last, order_.begin() + static_cast<std::ptrdiff_t>(count));
  const double limit = rest_[row] = *last;
  // Stable, lest the standard library's order decide which of the equals stay.
  const auto equal = std::stable_partition(scratch_.begin(), end, [&](const Candidate& each) {
    return reduced(each) < limit;
  });
  const auto rest = std::stable_partition(equal, end, [&](const Candidate& each) {
    return reduced(each) == limit;
  });
  const auto turn =
      (rest - equal) * static_cast<std::ptrdiff_t>(row) / static_cast<std::ptrdiff_t>(num_rows_);
  std::rotate(equal, equal + turn, rest);
}

/// An auction without epsilon: assigns most rows at little cost, and lowers duals on the way.
void Assignment::reduce_rows() {
  std::size_t num_left = kBidsPerRow * num_rows_;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    for (std::int32_t next = id(row); next >= 0 && num_left > 0; --num_left) next = bid(at(next));
  }
}

/// Gives the row its cheapest column, whose dual falls until the second cheapest is as good.
/// Returns who had it, or -1.
std::int32_t Assignment::bid(std::size_t row) {
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
  const double lower = dual - (second - least);
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
