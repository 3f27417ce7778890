#include <algorithm>
#include <cmath>

#include "assigning/assignment.hpp"
#include "assigning/cost_rows.hpp"
#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kChunk = 64;  // columns that are compared at once
constexpr int kDense = 8;           // rows read in full before a search is dense
constexpr std::uint32_t kPatience = 64;  // searches without a new list after one that did not help

}  // namespace

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
  fail_input("assignment: the allowed pairs do not suffice for all");
}

/// Goes on to what is nearest; false once nothing is nearer than the end of a path.
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

/// Goes on from a column to whoever has it.
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

}  // namespace gpusched
