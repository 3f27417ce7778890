#include "deadlines/plan_oracle.hpp"

#include <algorithm>
#include <cstring>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Quanta left in [first, last]; what is left after an option that does `done` lies in the next
/// segment's row up to `next_most`.
struct Range {
  int first;
  int last;
  int done;
  int next_most;

  /// Up to here the option does all that is left.
  [[nodiscard]] int whole() const noexcept { return std::min(done, last); }
  /// Up to here what is left after it can be done.
  [[nodiscard]] int reach() const noexcept { return std::min(last, next_most + whole()); }
};

// Written so that compilers turn them into vector code without being told to reorder anything.

/// out = min(out, cost + next shifted)
void relax(double* __restrict out, const double* __restrict next, double cost,
           const Range& range) noexcept {
  int left = range.first;
  for (; left <= range.whole(); ++left) out[left] = cost < out[left] ? cost : out[left];
  const int reach = range.reach();
  for (; left <= reach; ++left) {
    const double there = cost + next[left - range.done];
    out[left] = there < out[left] ? there : out[left];
  }
}

/// out = min(shared, cost + next shifted)
void relax_into(double* __restrict out, const double* __restrict shared,
                const double* __restrict next, double cost, const Range& range) noexcept {
  int left = range.first;
  for (; left <= range.whole(); ++left) out[left] = cost < shared[left] ? cost : shared[left];
  const int reach = range.reach();
  for (; left <= reach; ++left) {
    const double there = cost + next[left - range.done];
    out[left] = there < shared[left] ? there : shared[left];
  }
  for (; left <= range.last; ++left) out[left] = shared[left];
}

}  // namespace

bool PlanOracle::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh,
                       std::span<const std::uint8_t> is_busy) {
  options_ = options;
  is_busy_ = is_busy;
  gpus_ = gpus;
  num_configurations_ = gpus.size();
  num_segments_ = gpus.empty() ? 0 : options.size() / gpus.size();
  quanta_ = quanta;
  current_ = current;
  is_fresh_ = is_fresh;
  cost_ = 0.0;
  if (quanta <= 0) return true;
  cost_ = kInfinity;
  if (num_segments_ == 0) return false;
  find_fitting();
  find_ranges();
  if (most_[0] < quanta) return false;

  const std::size_t width = static_cast<std::size_t>(quanta) + 1;
  const std::size_t num_cells = (1 + num_segments_ * rows_per_segment()) * width;
  if (cells_.size() < num_cells) cells_.resize(num_cells);
  rows_.resize((num_segments_ + 1) * (num_configurations_ + 1));
  // After the last segment nothing can be done: only what has nothing left costs nothing.
  cells_[0] = 0.0;
  for (std::size_t previous = 0; previous <= num_configurations_; ++previous) {
    row(num_segments_, previous) = cells_.data();
  }
  for (std::size_t segment = num_segments_; segment > 0; --segment) fill(segment - 1);

  const std::size_t begin = current < 0 ? num_configurations_ : static_cast<std::size_t>(current);
  cost_ = row(0, begin)[quanta];
  return cost_ < kInfinity;
}

void PlanOracle::find_fitting() {
  fitting_.clear();
  begins_.assign(1, 0);
  for (std::size_t s = 0; s < num_segments_; ++s) {
    for (std::size_t c = 0; c < num_configurations_; ++c) {
      if (option(s, c).cost < kInfinity) fitting_.push_back(static_cast<std::uint32_t>(c));
    }
    begins_.push_back(fitting_.size());
  }
}

void PlanOracle::find_ranges() {
  least_.assign(num_segments_ + 1, 0);
  most_.assign(num_segments_ + 1, 0);
  least_[0] = most_[0] = quanta_;
  best_.assign(num_segments_, 0);
  for (std::size_t s = 0; s < num_segments_; ++s) {
    int fewest = may_idle(s) ? 0 : quanta_;
    for (const std::size_t c : fitting(s)) {
      const PlanOption& o = option(s, c);
      for (const int done : {o.same, o.changed, is_fresh_ ? o.first : -1}) {
        if (done < 0) continue;
        fewest = std::min(fewest, done);
        best_[s] = std::max(best_[s], std::min(done, quanta_));
      }
    }
    least_[s + 1] = std::max(0, least_[s] - best_[s]);
    most_[s + 1] = most_[s] - std::min(fewest, most_[s]);
  }
  int can = 0;
  for (std::size_t s = num_segments_; s > 0; --s) {
    most_[s] = std::min(most_[s], can);
    can = std::min(quanta_, can + best_[s - 1]);
  }
  most_[0] = std::min(most_[0], can);
}

void PlanOracle::fill(std::size_t segment) {
  const std::size_t idle = num_configurations_;
  const std::size_t width = static_cast<std::size_t>(quanta_) + 1;
  double* cells = cells_.data() + (1 + segment * rows_per_segment()) * width;
  const int first = std::max(1, least_[segment]);
  const int last = most_[segment];
  const int next_most = most_[segment + 1];

  // The best that does not go on with the configuration before: it is the same for all of them,
  // for going on is never worse than changing to the configuration that runs.
  double* const shared = cells;
  cells += width;
  shared[0] = 0.0;
  const double* const next_idle = row(segment + 1, idle);
  const int idle_last = may_idle(segment) ? std::min(last, next_most) : 0;
  if (first <= idle_last) {
    std::memcpy(shared + first, next_idle + first,
                static_cast<std::size_t>(idle_last - first + 1) * sizeof(double));
  }
  std::fill(shared + std::max(first, idle_last + 1), shared + std::max(first, last + 1), kInfinity);
  for (const std::size_t c : fitting(segment)) {
    const PlanOption& o = option(segment, c);
    if (o.changed < 0) continue;
    const int most = is_idle_first_run(o.changed, last) ? last - 1 : last;
    relax(shared, next_row(segment, c), o.cost, {first, most, o.changed, next_most});
  }
  std::fill_n(&row(segment, 0), num_configurations_ + 1, shared);
  for (const std::size_t c : fitting(segment)) {
    const PlanOption& o = option(segment, c);
    if (o.same < 0 || o.same == o.changed || !may_run_on(segment, c)) continue;
    row(segment, c) = cells;
    cells[0] = 0.0;
    relax_into(cells, shared, next_row(segment, c), o.cost, {first, last, o.same, next_most});
    cells += width;
  }
  if (!is_fresh_ || last < quanta_) return;
  // Nothing is done yet: the first run is free of restart costs. Only the idle row may know it.
  double best = shared[quanta_];
  for (const std::size_t c : fitting(segment)) {
    best = std::min(best, value(segment, c, option(segment, c).first, quanta_));
  }
  if (best == shared[quanta_]) return;
  std::memcpy(cells + first, shared + first,
              static_cast<std::size_t>(last - first + 1) * sizeof(double));
  cells[0] = 0.0;
  cells[quanta_] = best;
  row(segment, idle) = cells;
}

/// Whether the configuration may run when the segment begins.
bool PlanOracle::may_run_on(std::size_t segment, std::size_t configuration) const noexcept {
  if (segment == 0) return static_cast<int>(configuration) == current_;
  const PlanOption& before = option(segment - 1, configuration);
  return before.cost < kInfinity && before.goes_on;
}

// A job that has never run must do something in its first run, so that all work left means that
// it has never run. Later a change may well take a whole segment.
bool PlanOracle::is_idle_first_run(int done, int left) const noexcept {
  return is_fresh_ && done == 0 && left == quanta_;
}

/// Cost from the segment on if the configuration runs in it and does `done` of `left`.
double PlanOracle::value(std::size_t segment, std::size_t configuration, int done, int left) {
  const double cost = option(segment, configuration).cost;
  if (done < 0 || is_idle_first_run(done, left)) return kInfinity;
  if (done >= left) return cost;
  if (left - done > most_[segment + 1]) return kInfinity;
  return cost + next_row(segment, configuration)[left - done];
}

std::span<const std::int32_t> PlanOracle::choices() {
  choices_.assign(num_segments_, -1);
  if (cost_ == kInfinity) return choices_;
  const std::size_t idle = num_configurations_;
  std::size_t previous = current_ < 0 ? idle : static_cast<std::size_t>(current_);
  int left = quanta_;
  for (std::size_t segment = 0; segment < num_segments_ && left > 0; ++segment) {
    const double best = row(segment, previous)[left];
    std::size_t chosen = idle;
    int done = 0;
    for (const std::size_t c : fitting(segment)) {
      const PlanOption& o = option(segment, c);
      const bool is_first = is_fresh_ && previous == idle && left == quanta_;
      const int own = is_first ? o.first : c == previous ? o.same : o.changed;
      // The same sums as before, so the same bits.
      if (value(segment, c, own, left) != best) continue;
      const bool is_better = chosen == idle || gpus_[c] < gpus_[chosen] ||
                             (gpus_[c] == gpus_[chosen] && c == previous);
      if (!is_better) continue;
      chosen = c;
      done = own;
    }
    left -= done;
    choices_[segment] = chosen == idle ? -1 : static_cast<std::int32_t>(chosen);
    previous = chosen != idle && option(segment, chosen).goes_on ? chosen : idle;
  }
  return choices_;
}

}  // namespace gpusched
