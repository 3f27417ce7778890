#include "assigning/assignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "assigning/cost_rows.hpp"
#include "assigning/magnitudes.hpp"
#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kBidsPerRow = 16;
constexpr std::size_t kFewColumns = 256;  // a cache holds as many rows of them
constexpr std::size_t kFewBidsPerRow = 2;
constexpr std::size_t kTile = 16;  // rows, and columns, at once: two cache lines
constexpr std::size_t kBeside = 4;  // lest a column of the tile stand in few lines of the cache

}  // namespace

const Assignment::Result& Assignment::solve(std::span<const double> cost, int rows, int columns) {
  is_solved_ = false;
  load(cost, rows, columns);
  run();
  is_solved_ = true;
  report();
  return result_;
}

/// From scratch, at the costs there are.
void Assignment::run() {
  is_amiss_ = true;  // until it is through
  clear();
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    take_in(row);
    const bool is_new =
        row == 0 || !std::equal(cost_[row], cost_[row] + num_columns_, cost_[row - 1]);
    kind_[row] = is_new ? id(row) : kind_[row - 1];
  }
  const std::size_t num_own_rows = num_rows_;
  improve_start(hold_auction(0.0));
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (column_of_[row] >= 0) continue;
    if (has_few_columns_) {
      augment_on_all(row);
    } else {
      augment(row, -1);
    }
  }
  drop_idle_rows(num_own_rows);
  const double greatest = greatest_cost();
  coarsest_ = std::max(coarsest_, greatest);
  for (const double dual : column_dual_) coarsest_ = std::max(coarsest_, -dual);
  usual_ratio_ = greatest > 0 ? coarsest_ / greatest : 1.0;
  is_amiss_ = false;
}

/// Looks at a new row once: checks its costs, and lists the least ones.
void Assignment::take_in(std::size_t row) {
  const std::span<const double> cost{cost_[row], num_columns_};
  if (has_few_columns_) {
    if (!is_transposed_) greatest_[row] = check(cost, row);
  } else if (is_transposed_) {
    lists_.list_first(row, cost.data(), column_dual_.data());
  } else {
    greatest_[row] = accepted(lists_.list_new(row, cost.data(), column_dual_.data()), cost, row);
  }
}

/// From the duals as they are.
void Assignment::list_candidates(std::size_t row) {
  if (!has_few_columns_) lists_.list(row, cost_[row], column_dual_.data());
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

/// By tiles of whole cache lines: rows as long as a power of two push each other out of the cache.
void Assignment::transpose(const double* cost) noexcept {
  std::array<std::array<double, kTile + kBeside>, kTile> tile;
  const auto move = [&](std::size_t first, std::size_t begin, std::size_t width,
                        std::size_t height) __attribute__((always_inline)) {
    for (std::size_t column = 0; column < width; ++column) {
      std::copy_n(&cost[(first + column) * num_rows_ + begin], height, tile[column].begin());
    }
    for (std::size_t row = 0; row < height; ++row) {
      double* const out = &transposed_[(begin + row) * num_columns_ + first];
      for (std::size_t column = 0; column < width; ++column) out[column] = tile[column][row];
    }
  };
  for (std::size_t first = 0; first < num_columns_; first += kTile) {
    const std::size_t width = std::min(kTile, num_columns_ - first);
    for (std::size_t begin = 0; begin < num_rows_; begin += kTile) {
      const std::size_t height = std::min(kTile, num_rows_ - begin);
      if (width == kTile && height == kTile) {
        move(first, begin, kTile, kTile);
      } else {
        move(first, begin, width, height);
      }
    }
  }
}

double Assignment::check(std::span<const double> cost, std::size_t row) {
  return accepted(magnitudes_of(cost), cost, row);
}

/// Returns the greatest magnitude; throws unless all costs of the row are costs.
double Assignment::accepted(const Magnitudes& found, std::span<const double> cost,
                            std::size_t row) {
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
  has_few_columns_ = start_ == Start::best && num_columns_ <= kFewColumns;
  column_dual_.assign(num_columns_, 0.0);
  row_of_.assign(num_columns_, -1);
  column_of_.clear();
  next_listing_.clear();
  last_search_.clear();
  resize_rows();
  order_.resize(num_columns_);
  distance_.assign(num_columns_, kInfinity);
  before_.resize(num_columns_);
  search_ = 0;
  coarsest_ = 0;
  taken_.resize(has_few_columns_ ? num_columns_ : 0);
  from_.resize(taken_.size());
  open_.resize(std::max(open_.size(), taken_.size()));
}

/// Makes room for as many rows as there are.
void Assignment::resize_rows() {
  column_of_.resize(num_rows_, -1);
  own_cost_.resize(num_rows_);
  if (!has_few_columns_) lists_.resize(num_rows_, num_columns_);
  base_.resize(num_rows_);
  next_listing_.resize(num_rows_, 0);
  kind_.resize(num_rows_);
  last_search_.resize(2 * num_rows_, 0);
}

/// Assigns most rows at little cost, and lowers duals on the way. Returns whether the bids were spent
/// before all rows had their turn.
bool Assignment::hold_auction(double epsilon) {
  std::fill(row_of_.begin(), row_of_.end(), -1);
  std::fill(column_of_.begin(), column_of_.end(), -1);
  std::fill(taken_.begin(), taken_.end(), 0);
  std::size_t num_left = (has_few_columns_ ? kFewBidsPerRow : kBidsPerRow) * num_rows_;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    for (std::int32_t next = id(row); next >= 0 && num_left > 0; --num_left) {
      if (stop_ != nullptr) stop_->count(CandidateLists::kMost);
      next = has_few_columns_ ? bid_on_all(at(next)) : bid(at(next), epsilon);
    }
  }
  return num_left == 0;
}

/// Gives the row its cheapest column, whose dual falls until the second cheapest is better by
/// epsilon. Returns who had it, or -1.
std::int32_t Assignment::bid(std::size_t row, double epsilon) {
  std::array<double, CandidateLists::kMost> reduced;
  LeastPair<double> two;
  const auto look = [&] {
    double* out = reduced.data();
    for (const ListedColumn& each : lists_.of(row))
      *out++ = each.cost - column_dual_[at(each.column)];
    two = least_two({reduced.data(), lists_.of(row).size()});
  };
  look();
  if (two.second > lists_.rest(row)) {
    list_candidates(row);
    look();
  }
  if (two.second == kInfinity) return -1;
  const ListedColumn& best = lists_.of(row)[first_of(two.least, reduced, row)];
  const auto column = at(best.column);
  return take(row, column, best.cost, column_dual_[column] - (two.second - two.least) - epsilon);
}

/// The first candidate of that reduced cost whose column no row has; if there is none, the first.
std::size_t Assignment::first_of(double least, std::span<const double> reduced, std::size_t row) {
  const auto list = lists_.of(row);
  const auto is_best = [&](std::size_t i) { return reduced[i] == least; };
  std::size_t first = 0;
  while (!is_best(first)) ++first;
  for (std::size_t i = first; i < list.size(); ++i) {
    if (is_best(i) && row_of_[at(list[i].column)] < 0) return i;
  }
  return first;
}

/// Gives the row the column, whose dual falls to `lower`, unless that takes it from another row
/// for nothing. Returns who had it, or -1.
std::int32_t Assignment::take(std::size_t row, std::size_t column, double cost, double lower) {
  double& dual = column_dual_[column];
  const std::int32_t owner = row_of_[column];
  if (lower >= dual && owner >= 0) return -1;
  dual = lower;
  row_of_[column] = id(row);
  column_of_[row] = id(column);
  own_cost_[row] = cost;
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
  const double greatest = check(cost, at(row));
  const std::size_t num_own_rows = num_rows_;
  before_change_.resize(width);
  for (std::size_t i = 0; i < width; ++i) {
    before_change_[i] = is_transposed_ ? cost_[i][at(row)] : cost_[at(row)][i];
  }
  const double greatest_before = std::exchange(greatest_[at(row)], greatest);
  try {
    set_costs(at(row), cost);
    search_again(at(row));
  } catch (...) {
    is_amiss_ = true;
    num_rows_ = num_own_rows;  // without those that are idle
    cost_.resize(num_rows_);
    greatest_[at(row)] = greatest_before;
    set_costs(at(row), before_change_);
    throw;
  }
  report();
  return result_;
}

/// Of one of the user's rows.
void Assignment::set_costs(std::size_t row, std::span<const double> cost) {
  if (is_transposed_) {
    for (std::size_t i = 0; i < num_rows_; ++i) transposed_[i * num_columns_ + row] = cost[i];
  } else {
    if (changed_.size() < num_rows_) changed_.resize(num_rows_);
    changed_[row].assign(cost.begin(), cost.end());
    cost_[row] = changed_[row].data();
  }
}

/// After one of the user's rows has changed.
void Assignment::search_again(std::size_t row) {
  if (is_amiss_ || coarsest_ > kCoarse * usual_ratio_ * greatest_cost()) {
    run();
    return;
  }
  list_all();
  if (is_transposed_) {
    renew_column(row);
  } else {
    renew_row(row);
  }
}

/// Rows that were read in full have lists from now on.
void Assignment::list_all() {
  if (!has_few_columns_) return;
  has_few_columns_ = false;
  lists_.resize(num_rows_, num_columns_);
  for (std::size_t row = 0; row < num_rows_; ++row) list_candidates(row);
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
    const auto list = lists_.of(row);
    const auto found = std::find_if(list.begin(), list.end(), [&](const ListedColumn& each) {
      return each.column == id(column);
    });
    if (found != list.end()) {
      found->cost = cost_[row][column];
    } else {
      lists_.lower_rest(row, cost_[row][column] - dual);
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
