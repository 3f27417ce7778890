#include "solvers/transportation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/number_text.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {
namespace {

constexpr std::int64_t kMostUnits = std::numeric_limits<std::int32_t>::max() / 2;

std::int64_t sum_of(std::span<const std::int32_t> counts, const char* what) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 0) {
      fail_input(std::string("transportation: ") + what + " " + std::to_string(i) + ": " +
                 std::to_string(counts[i]) + " is negative");
    }
    sum += counts[i];
  }
  if (sum > kMostUnits) {
    fail_input(std::string("transportation: ") + what + ": more than " +
               std::to_string(kMostUnits) + " units");
  }
  return sum;
}

}  // namespace

const Transportation::Result& Transportation::solve(std::span<const double> value,
                                                    std::span<const std::int32_t> supply,
                                                    std::span<const std::int32_t> capacity,
                                                    Supply rule, Start start) {
  load(value, supply, capacity, rule, start);
  place(supply);
  for (std::size_t column = 0; column < width_; ++column) {
    while (excess_[column] > 0) push(column, find_path(column));
  }
  report();
  return result_;
}

void Transportation::load(std::span<const double> value, std::span<const std::int32_t> supply,
                          std::span<const std::int32_t> capacity, Supply rule, Start start) {
  if (capacity.empty() || value.size() != supply.size() * capacity.size()) {
    fail_input("transportation: must have a value for each row and each column");
  }
  const std::int64_t units = sum_of(supply, "supply of row");
  const std::int64_t room = sum_of(capacity, "capacity of column");
  if (rule == Supply::exactly && units > room) {
    fail_input("transportation: a supply of " + std::to_string(units) +
               " exceeds the capacity of " + std::to_string(room));
  }
  num_rows_ = supply.size();
  num_columns_ = capacity.size();
  const std::size_t width = num_columns_ + (rule == Supply::at_most ? 1 : 0);
  // One unit more than can arrive leaves the idle row there permanently, which fixes the price at
  // 0.
  const std::int64_t idle_room = rule == Supply::at_most ? units + 1 : 0;
  idle_units_ = static_cast<std::int32_t>(room + idle_room - units);
  has_idle_row_ = idle_units_ > 0;

  const bool is_warm = start == Start::warm && width == found_price_.size();
  width_ = width;
  const std::size_t rows = num_rows_ + (has_idle_row_ ? 1 : 0);
  worth_.resize(rows * width);
  std::fill(worth_.begin(), worth_.end(), 0.0);
  double greatest = 0.0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (stop_ != nullptr) stop_->count(num_columns_);
    const auto values = value.subspan(row * num_columns_, num_columns_);
    double* const worths = &worth(row, 0);
    bool is_bad = false;
    for (std::size_t column = 0; column < num_columns_; ++column) {
      const double each = worths[column] = values[column];
      const double magnitude = each == -kInfinity ? 0.0 : std::fabs(each);
      is_bad |= !(magnitude <= kMostCost);
      greatest = std::max(greatest, magnitude);
    }
    if (!is_bad) continue;
    const auto bad = std::find_if(values.begin(), values.end(), [](double each) {
      return !(std::fabs(each) <= kMostCost || each == -kInfinity);
    });
    fail_input("transportation: value of row " + std::to_string(row) + ", column " +
               std::to_string(bad - values.begin()) + ": " + text_of(*bad) +
               (std::isfinite(*bad) ? " is beyond 1e300" : " must be a number below infinity"));
  }
  price_ = found_price_;
  // The lowest price is 0.
  if (!is_warm || *std::max_element(price_.begin(), price_.end()) > kCoarse * greatest) {
    price_.assign(width, 0.0);
  }
  flow_.assign(rows * width, 0);
  index_.resize(rows * width);
  members_.resize(rows * width);
  num_members_.assign(width, 0);
  loss_.assign(width * width, kInfinity);
  mover_.assign(width * width, -1);
  distance_.resize(width);
  before_.resize(width);
  open_.resize(width);
  excess_.resize(width);
  for (std::size_t column = 0; column < num_columns_; ++column) excess_[column] = -capacity[column];
  if (rule == Supply::at_most) excess_.back() = static_cast<std::int32_t>(-idle_room);
}

void Transportation::place(std::span<const std::int32_t> supply) {
  for (std::size_t row = 0; row < num_rows_; ++row) {
    if (supply[row] == 0) continue;
    std::size_t best = 0;
    double most = -kInfinity;
    for (std::size_t column = 0; column < width_; ++column) {
      const double net = worth(row, column) - price_[column];
      if (net < most || (net == most && excess_[column] >= excess_[best])) continue;
      most = net;
      best = column;
    }
    if (most == -kInfinity) {
      fail_input("transportation: row " + std::to_string(row) + " has no allowed column");
    }
    enter(row, best, supply[row]);
  }
  if (has_idle_row_) place_idle_row();
}

/// Fills up the cheapest columns, and leaves the rest in the first one of them.
void Transportation::place_idle_row() {
  const double least = *std::min_element(price_.begin(), price_.end());
  std::int32_t units = idle_units_;
  std::size_t first = width_;
  for (std::size_t column = 0; column < width_ && units > 0; ++column) {
    if (price_[column] != least) continue;
    if (first == width_) first = column;
    const std::int32_t some = std::min(units, -excess_[column]);
    if (some <= 0) continue;
    enter(num_rows_, column, some);
    units -= some;
  }
  if (units > 0) enter(num_rows_, first, units);
}

void Transportation::enter(std::size_t row, std::size_t column, std::int32_t units) {
  std::int32_t& held = flow(row, column);
  excess_[column] += units;
  held += units;
  if (held != units) return;
  const std::size_t stride = num_rows_ + (has_idle_row_ ? 1 : 0);
  std::int32_t& count = num_members_[column];
  index_[row * width_ + column] = count;
  members_[column * stride + static_cast<std::size_t>(count++)] = static_cast<std::int32_t>(row);
  const double* const worths = &worth(row, 0);
  const double here = worths[column];
  double* const losses = &loss_[column * width_];
  for (std::size_t to = 0; to < width_; ++to) {
    const double loss = here - worths[to];
    if (loss >= losses[to]) continue;
    losses[to] = loss;
    mover_[column * width_ + to] = static_cast<std::int32_t>(row);
  }
}

void Transportation::leave(std::size_t row, std::size_t column, std::int32_t units) {
  std::int32_t& held = flow(row, column);
  excess_[column] -= units;
  held -= units;
  if (held != 0) return;
  const std::size_t stride = num_rows_ + (has_idle_row_ ? 1 : 0);
  std::int32_t* const members = &members_[column * stride];
  const std::int32_t place = index_[row * width_ + column];
  const std::int32_t count = --num_members_[column];
  members[place] = members[count];
  index_[static_cast<std::size_t>(members[place]) * width_ + column] = place;
  for (std::size_t to = 0; to < width_; ++to) {
    if (mover_[column * width_ + to] != static_cast<std::int32_t>(row)) continue;
    if (stop_ != nullptr) stop_->count(static_cast<std::size_t>(count));
    double least = kInfinity;
    std::int32_t best = -1;
    for (std::int32_t i = 0; i < count; ++i) {
      const double* const worths = &worth_[static_cast<std::size_t>(members[i]) * width_];
      const double loss = worths[column] - worths[to];
      if (loss >= least) continue;
      least = loss;
      best = members[i];
    }
    loss_[column * width_ + to] = least;
    mover_[column * width_ + to] = best;
  }
}

/// The nearest column with room, prices raised along the way.
std::size_t Transportation::find_path(std::size_t first) {
  std::fill(distance_.begin(), distance_.end(), kInfinity);
  std::fill(open_.begin(), open_.end(), kInfinity);
  if (stop_ != nullptr) stop_->count(width_ * width_);
  double* const distances = distance_.data();
  double* const open = open_.data();
  const double* const prices = price_.data();
  distances[first] = open[first] = 0.0;
  for (;;) {
    const auto nearest = static_cast<std::size_t>(std::min_element(open, open + width_) - open);
    const double least = open[nearest];
    if (least == kInfinity) {
      fail_input("transportation: the allowed pairs have too little capacity");
    }
    if (excess_[nearest] < 0) {
      for (std::size_t column = 0; column < width_; ++column) {
        if (distances[column] < least) price_[column] += least - distances[column];
      }
      return nearest;
    }
    open[nearest] = kInfinity;
    const double* const losses = &loss_[nearest * width_];
    for (std::size_t to = 0; to < width_; ++to) {
      const double length = losses[to] - prices[nearest] + prices[to];
      const double distance = length > 0 ? least + length : least;
      if (distance >= distances[to]) continue;
      distances[to] = open[to] = distance;
      before_[to] = static_cast<std::int32_t>(nearest);
    }
  }
}

/// Moves as many units as the path allows.
void Transportation::push(std::size_t first, std::size_t last) {
  std::int32_t units = std::min(excess_[first], -excess_[last]);
  for (std::size_t to = last; to != first; to = before(to)) {
    units = std::min(units, flow(mover(before(to), to), before(to)));
  }
  // From its end: a step changes the moves out of its own two columns alone, and the columns of a
  // path differ, so the steps before it are still those that were found.
  for (std::size_t to = last; to != first; to = before(to)) {
    const std::size_t row = mover(before(to), to);
    leave(row, before(to), units);
    enter(row, to, units);
  }
}

void Transportation::report() {
  const double least = *std::min_element(price_.begin(), price_.end());
  for (double& price : price_) price -= least;
  if (has_idle_row_) {
    for (std::size_t column = 0; column < width_; ++column) {
      if (flow(num_rows_, column) > 0) price_[column] = 0.0;
    }
  }
  result_.price.assign(price_.begin(), price_.begin() + static_cast<std::ptrdiff_t>(num_columns_));
  result_.flow.resize(num_rows_ * num_columns_);
  result_.row_dual.resize(num_rows_);
  result_.value = 0;
  for (std::size_t row = 0; row < num_rows_; ++row) {
    double dual = -kInfinity;
    for (std::size_t column = 0; column < width_; ++column) {
      dual = std::max(dual, worth(row, column) - price_[column]);
    }
    result_.row_dual[row] = dual;
    for (std::size_t column = 0; column < num_columns_; ++column) {
      const std::int32_t units = flow(row, column);
      result_.flow[row * num_columns_ + column] = units;
      if (units > 0) result_.value += units * worth(row, column);
    }
  }
  found_price_ = price_;
}

}  // namespace gpusched
