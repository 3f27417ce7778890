#include "solvers/assignment.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"
#include "solvers/cost_rows.hpp"
#include "solvers/full_rows.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kBidsPerRow = 16;
constexpr std::size_t kFewColumns = 256;  // a cache holds as many rows of them
constexpr std::size_t kFewBidsPerRow = 2;
constexpr std::size_t kTile = 16;  // rows, and columns, at once: two cache lines
constexpr std::size_t kBeside = 4;  // so that a column of the tile spreads over cache lines

constexpr std::size_t kLeastRows = 32;  // fewer are assigned as soon
constexpr std::size_t kLeastLasting = 128;
constexpr std::size_t kStride = 4;  // the sample has one row, and one column, in this many
constexpr std::size_t kLeftOver = 10;  // one row in this many is left over
constexpr std::size_t kFewIdle = 16;  // one more column per this many rows
constexpr std::size_t kMostIdle = 16;  // columns a row, or the square is far larger than the costs
constexpr std::size_t kDearest = 16;  // one column in this many
constexpr int kEpsilons = 3;
constexpr double kQuotient = 8;

constexpr std::size_t kChunk = 64;  // columns that are compared at once
constexpr int kDense = 8;  // rows read in full before a search is dense
constexpr std::uint32_t kPatience = 64;  // searches without a new list after one that did not help

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

/// Examines a new row once: checks its costs, and lists the lowest ones.
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
    fail_input("assignment: must have a cost for each of at least one row and column");
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

/// By tiles of whole cache lines: rows with a power-of-two length evict each other.
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

/// Reserves memory for the rows.
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
/// epsilon. Returns its previous owner, or -1.
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

/// The first candidate of that reduced cost with an unassigned column; if there is none, the first.
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
/// without a gain. Returns its previous owner, or -1.
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
  if (!is_solved_) fail_input("assignment: solve a problem before changing it");
  const std::size_t num_user_rows = is_transposed_ ? num_columns_ : num_rows_;
  const std::size_t width = is_transposed_ ? num_rows_ : num_columns_;
  if (row < 0 || at(row) >= num_user_rows || cost.size() != width) {
    fail_input("assignment: must be an existing row, with a cost for each column");
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

/// Sets the costs of one of the user's rows.
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

/// Restarts from better duals if paths would be long: if rows compete for the same columns, bids
/// leave most of them over, and if many still outbid each other the bids are spent.
void Assignment::improve_start(bool are_bids_spent) {
  const bool is_lasting = start_ == Start::frozen_ties;
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

/// Solves on so few columns that the others do not matter: among its cheapest columns, one more
/// than there are rows, every row finds a free one, so it needs none beyond. False if all rows
/// together need most columns.
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

/// Solves on the gathered costs.
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

/// Makes the problem square: idle rows take the leftover columns at no cost.
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

/// Auctions with falling epsilon: rows that would outbid each other by little do so by much. Starts
/// from a cost that all but few columns are below: a column that some row needs may be very
/// expensive.
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

/// Restarts from the duals of every fourth row and column, solved recursively: each column costs as
/// much as the sampled rows allow. False if forbidden pairs leave them undefined.
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

bool Assignment::is_later(const Event& a, const Event& b) noexcept {
  return a.distance > b.distance || (a.distance == b.distance && a.what > b.what);
}

/// Assigns the row `source` along a shortest path of reduced costs; num_rows_ is the idle row.
void Assignment::augment(std::size_t source, std::int32_t target) {
  ++search_;
  events_.clear();
  touched_.clear();
  done_.clear();
  ready_.clear();
  is_dense_ = false;
  num_dense_ = 0;
  bound_ = idle_base_ = kInfinity;
  end_ = -1;
  floor_ = -kInfinity;
  target_ = target;
  if (source == num_rows_) {
    reach_from_idle(0.0);
  } else {
    reach_from(source, 0.0);
    last_search_[at(kind_[source])] = search_;
  }
  while (advance()) {
  }
  if (end_ < 0) fail_unassigned();
  finish_path(source);
}

void Assignment::fail_unassigned() {
  fail_input("assignment: too few allowed pairs to assign every row or every column");
}

/// Advances to the nearest event; false once none is nearer than the end of a path.
bool Assignment::advance() {
  double near = ready_.empty() ? kInfinity : floor_;
  if (is_dense_ && ready_.empty()) {
    if (is_nearest_stale_) find_nearest();
    near = nearest_;
  }
  const double next = events_.empty() ? kInfinity : events_.front().distance;
  if (std::min(near, next) >= bound_) return false;
  floor_ = std::min(near, next);
  if (near < next) {
    if (ready_.empty()) find_ready();
    const std::int32_t column = ready_.back();
    ready_.pop_back();
    expand(column);
    return true;
  }
  const std::int32_t what = events_.front().what;
  std::pop_heap(events_.begin(), events_.end(), is_later);
  events_.pop_back();
  if (at(what) >= num_columns_) {
    exhaust(at(what) - num_columns_);
  } else if (!is_dense_ && floor_ <= distance_[at(what)]) {
    expand(what);
  }
  return true;
}

void Assignment::find_nearest() {
  if (stop_ != nullptr) stop_->count(num_columns_);
  find_block_minima(open_, kChunk, least_open_.data());
  nearest_ = *std::min_element(least_open_.begin(), least_open_.end());
  is_nearest_stale_ = false;
}

/// Collects the nearest columns, all of one distance, that were not gone on from.
void Assignment::find_ready() {
  for (std::size_t chunk = 0; chunk < least_open_.size(); ++chunk) {
    if (least_open_[chunk] != nearest_) continue;
    const std::size_t end = std::min((chunk + 1) * kChunk, num_columns_);
    for (std::size_t column = chunk * kChunk; column < end; ++column) {
      if (open_[column] != nearest_) continue;
      open_[column] = kInfinity;
      ready_.push_back(id(column));
    }
  }
  is_nearest_stale_ = true;
}

/// Continues from a column to its owner.
void Assignment::expand(std::int32_t column) {
  done_.push_back(column);
  const std::int32_t row = row_of_[at(column)];
  if (row >= 0) {
    std::uint32_t& last = last_search_[at(kind_[at(row)])];
    if (last != search_) reach_from(at(row), floor_ - row_dual(at(row)));
    last = search_;
  } else if (idle_base_ == kInfinity) {
    idle_column_ = column;
    reach_from_idle(floor_);
  }
}

/// The candidates of a row do not suffice: takes new ones, or, where that did not help lately,
/// all columns.
void Assignment::exhaust(std::size_t row) {
  if (search_ >= next_listing_[row]) {
    list_candidates(row);
    next_listing_[row] = search_ + 1;
    reach_from(row, base_[row]);
    return;
  }
  if (next_listing_[row] == search_ + 1) next_listing_[row] = search_ + kPatience;
  reach_from_all(row, base_[row]);
}

void Assignment::push(double distance, std::size_t what) {
  events_.push_back({distance, id(what)});
  std::push_heap(events_.begin(), events_.end(), is_later);
}

/// A column at a distance from `row`, if that is the shortest yet.
inline void Assignment::reach(std::size_t column, std::size_t row, double distance) {
  distance = std::max(distance, floor_);  // rounding can make a reduced cost negative
  if (distance >= bound_ || distance >= distance_[column]) return;
  if (distance_[column] == kInfinity) touched_.push_back(id(column));
  distance_[column] = distance;
  before_[column] = id(row);
  if (target_ < 0 ? row_of_[column] < 0 : id(column) == target_) {
    bound_ = distance;
    end_ = id(column);
  } else if (is_dense_) {
    open_[column] = distance;
    is_nearest_stale_ = true;
  } else {
    push(distance, column);
  }
}

void Assignment::reach_from(std::size_t row, double base) {
  if (stop_ != nullptr) stop_->count(CandidateLists::kMost);
  base_[row] = base;
  if (search_ + 1 < next_listing_[row]) {
    reach_from_all(row, base);
    return;
  }
  for (const ListedColumn& each : lists_.of(row)) {
    const auto column = at(each.column);
    reach(column, row, base + (each.cost - column_dual_[column]));
  }
  if (base + lists_.rest(row) < bound_)
    push(std::max(base + lists_.rest(row), floor_), num_columns_ + row);
}

/// Many columns are reached again and again from now on: among the events they would pile up.
void Assignment::become_dense() {
  is_dense_ = is_nearest_stale_ = true;
  open_.assign(num_columns_, kInfinity);
  least_open_.resize((num_columns_ - 1) / kChunk + 1);
  for (const std::int32_t column : touched_) open_[at(column)] = distance_[at(column)];
  for (const std::int32_t column : done_) open_[at(column)] = kInfinity;
  if (end_ >= 0) open_[at(end_)] = kInfinity;
}

void Assignment::reach_from_all(std::size_t row, double base) {
  if (stop_ != nullptr) stop_->count(num_columns_);
  if (++num_dense_ == kDense) become_dense();
  const double* const cost = cost_[row];
  const double* const dual = column_dual_.data();
  for (std::size_t begin = 0; begin < num_columns_; begin += kChunk) {
    const std::size_t end = std::min(begin + kChunk, num_columns_);
    if (!comes_nearer({base, cost, dual}, distance_.data(), bound_, begin, end)) continue;
    for (std::size_t column = begin; column < end; ++column) {
      reach(column, row, base + (cost[column] - dual[column]));
    }
  }
}

void Assignment::reach_from_idle(double base) {
  idle_base_ = base;
  for (std::size_t column = 0; column < num_columns_; ++column) {
    reach(column, num_rows_, base - column_dual_[column]);
  }
}

/// Assigns along the path, and changes the duals so that all of it is tight.
void Assignment::finish_path(std::size_t source) {
  coarsest_ = std::max(coarsest_, std::fabs(bound_));
  for (const std::int32_t column : done_) {
    double& dual = column_dual_[at(column)];
    dual += distance_[at(column)] - bound_;
    coarsest_ = std::max(coarsest_, -dual);
  }
  for (std::int32_t column = end_;;) {
    const std::size_t row = at(before_[at(column)]);
    std::int32_t next = idle_column_;
    if (row < num_rows_) {
      next = column_of_[row];
      column_of_[row] = column;
      row_of_[at(column)] = id(row);
      own_cost_[row] = cost_[row][column];
      coarsest_ = std::max(coarsest_, std::fabs(own_cost_[row]));
    } else {
      row_of_[at(column)] = -1;
    }
    if (row == source) break;
    column = next;
  }
  for (const std::int32_t column : touched_) distance_[at(column)] = kInfinity;
  if (idle_base_ >= bound_) return;
  // The idle row's dual is to be 0 again.
  const double shift = bound_ - idle_base_;
  lists_.shift_rests(-shift);
  for (std::size_t column = 0; column < num_columns_; ++column) {
    double& dual = column_dual_[column];
    dual = row_of_[column] < 0 ? 0.0 : std::min(dual + shift, 0.0);
  }
}

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
