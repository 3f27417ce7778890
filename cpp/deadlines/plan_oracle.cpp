#include "deadlines/plan_oracle.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
bool PlanOracle::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh) {
  find_fitting(options, gpus.size());
  return solve(options, gpus, quanta, current, is_fresh, {fitting_, begins_, {}});
}

bool PlanOracle::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh, const PlanCore& core) {
  options_ = options;
  core_ = core;
  gpus_ = gpus;
  num_configurations_ = gpus.size();
  num_segments_ = core.begins.size() - 1;
  quanta_ = quanta;
  current_ = current;
  is_fresh_ = is_fresh;
  cost_ = 0.0;
  if (quanta <= 0) return true;
  cost_ = kInfinity;
  if (num_segments_ == 0) return false;
  find_ranges();
  if (most_[0] < quanta) return false;

  reserve_rows();
  // After the last segment nothing can be done: only what has nothing left costs nothing.
  std::fill_n(&row(num_segments_, 0), num_configurations_ + 1, new_row(num_segments_));
  for (std::size_t segment = num_segments_; segment > 0; --segment) fill(segment - 1);

  const std::size_t begin = current < 0 ? num_configurations_ : static_cast<std::size_t>(current);
  cost_ = row(0, begin)[quanta];
  return cost_ < kInfinity;
}

void PlanOracle::find_fitting(std::span<const PlanOption> options, std::size_t num_configurations) {
  fitting_.clear();
  begins_.assign(1, 0);
  if (num_configurations == 0) return;
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    for (std::size_t c = 0; c < num_configurations; ++c) {
      if (options[begin + c].cost < kInfinity) fitting_.push_back(static_cast<std::uint32_t>(c));
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
    for (const std::size_t c : core_.of(s)) {
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

void PlanOracle::reserve_rows() {
  rows_.resize((num_segments_ + 1) * (num_configurations_ + 1));
  // The shared rows, those that each configuration improves, and the job's very first run.
  std::size_t most_rows = 1 + (is_fresh_ ? 2 : 1) * num_segments_;
  for (std::size_t s = 0; s < num_segments_; ++s) {
    const auto core = core_.of(s);
    most_rows += static_cast<std::size_t>(
        std::count_if(core.begin(), core.end(), [&](std::size_t c) { return knows_better(s, c); }));
  }
  const std::size_t width = 2 * static_cast<std::size_t>(quanta_) + 1;
  if (width > row_width_) {
    row_width_ = width;
    cells_.clear();
  }
  if (cells_.size() < most_rows * row_width_) cells_.resize(most_rows * row_width_, 0.0);
  num_rows_ = 0;
}

double* PlanOracle::new_row(std::size_t segment) {
  double* const cells = cells_.data() + num_rows_++ * row_width_ + row_width_ / 2;
  cells[0] = 0.0;
  // Quanta that the segment before may leave, and that can no longer be done.
  const int last = segment == 0 ? quanta_ : most_[segment - 1];
  for (int left = most_[segment] + 1; left <= last; ++left) cells[left] = kInfinity;
  return cells;
}

void PlanOracle::fill(std::size_t segment) {
  const int first = std::max(1, least_[segment]);
  const int last = most_[segment];
  double* const shared = new_row(segment);
  fill_shared(segment, shared);
  std::fill_n(&row(segment, 0), num_configurations_ + 1, shared);
  for (const std::size_t c : core_.of(segment)) {
    if (!knows_better(segment, c) || !may_run_on(segment, c)) continue;
    const PlanOption& o = option(segment, c);
    const RowTransition way{o.cost, next_row(segment, c) - std::min(o.same, last)};
    row(segment, c) = new_row(segment);
    relax(row(segment, c), shared, {&way, 1}, first, last);
  }
  if (is_fresh_ && last == quanta_) fill_first_run(segment, shared);
}

/// The best that does not go on with the configuration before: it is the same for all of them, for
/// going on is never worse than changing to the configuration that runs.
void PlanOracle::fill_shared(std::size_t segment, double* shared) {
  const int first = std::max(1, least_[segment]);
  const int last = most_[segment];
  ways_.clear();
  for (const std::size_t c : core_.of(segment)) {
    const PlanOption& o = option(segment, c);
    if (o.changed < 0 || is_idle_first_run(o.changed, last)) continue;
    ways_.push_back({o.cost, next_row(segment, c) - std::min(o.changed, last)});
  }
  relax(shared, may_idle(segment) ? row(segment + 1, num_configurations_) : nullptr, ways_, first,
        last);
  for (const std::size_t c : core_.of(segment)) {
    const PlanOption& o = option(segment, c);
    if (o.changed < 0 || !is_idle_first_run(o.changed, last)) continue;
    const RowTransition way{o.cost, next_row(segment, c)};
    relax(shared, shared, {&way, 1}, first, last - 1);
  }
}

/// Nothing is done yet: the first run is free of restart costs. Only the idle row may know it.
void PlanOracle::fill_first_run(std::size_t segment, const double* shared) {
  double best = shared[quanta_];
  for (const std::size_t c : core_.of(segment)) {
    best = std::min(best, value(segment, c, option(segment, c).first, quanta_));
  }
  if (best == shared[quanta_]) return;
  double* const fresh = new_row(segment);
  std::copy(shared + std::max(1, least_[segment]), shared + quanta_,
            fresh + std::max(1, least_[segment]));
  fresh[quanta_] = best;
  row(segment, num_configurations_) = fresh;
}

/// Whether the configuration may run when the segment begins.
bool PlanOracle::may_run_on(std::size_t segment, std::size_t configuration) const noexcept {
  if (segment == 0) return static_cast<int>(configuration) == current_;
  const auto before = core_.of(segment - 1);
  return option(segment - 1, configuration).goes_on &&
         std::find(before.begin(), before.end(), configuration) != before.end();
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
    for (const std::size_t c : core_.of(segment)) {
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
