#include "market/one_type_search.hpp"

#include <algorithm>

namespace gpusched {
namespace {

// A gain below this fraction of the costs is rounding.
constexpr double kCostGain = 1e-9;

}  // namespace

void OneTypeSearch::begin(std::span<const std::int32_t> capacity) {
  num_types_ = capacity.size();
  free_.assign(capacity.begin(), capacity.end());
  jobs_.clear();
  options_.clear();
  cheapest_.clear();
  type_begin_.clear();
}

void OneTypeSearch::add(std::span<const Option> options) {
  Job job;
  job.begin = options_.size();
  std::size_t at = 0;
  for (std::size_t type = 0; type < num_types_; ++type) {
    type_begin_.push_back(job.begin + at);
    std::int32_t cheapest = kNone;
    for (; at < options.size() && options[at].type == static_cast<int>(type); ++at) {
      const auto index = static_cast<std::int32_t>(at);
      const bool is_cheaper =
          cheapest == kNone || options[at].cost < options[static_cast<std::size_t>(cheapest)].cost;
      if (is_cheaper) cheapest = index;
      job.waiting_cost = std::max(job.waiting_cost, 2.0 * options[at].cost);
      options_.push_back(options[at]);
      cheapest_.push_back(cheapest);
    }
  }
  job.end = options_.size();
  type_begin_.push_back(job.end);
  jobs_.push_back(job);
}

/// The cheapest option on a type with at most `gpus` GPUs.
std::int32_t OneTypeSearch::best_within(std::size_t job, int type, int gpus) const {
  const std::size_t* bounds = type_begin_.data() + job * (num_types_ + 1) + type;
  const auto begin = options_.begin() + static_cast<std::ptrdiff_t>(bounds[0]);
  const auto end = options_.begin() + static_cast<std::ptrdiff_t>(bounds[1]);
  const auto wider = std::upper_bound(begin, end, gpus, [](int most, const Option& option) {
    return most < option.gpus;
  });
  if (wider == begin) return kNone;
  return cheapest_[static_cast<std::size_t>(wider - options_.begin()) - 1];
}

double OneTypeSearch::cost_of(std::size_t job) const noexcept {
  return jobs_[job].held == kNone ? jobs_[job].waiting_cost : option(job, jobs_[job].held).cost;
}

int OneTypeSearch::held_gpus(std::size_t job) const noexcept {
  return jobs_[job].held == kNone ? 0 : option(job, jobs_[job].held).gpus;
}

int OneTypeSearch::held_type(std::size_t job) const noexcept {
  return jobs_[job].held == kNone ? kNone : option(job, jobs_[job].held).type;
}

double OneTypeSearch::cost() const noexcept {
  double sum = 0;
  for (std::size_t job = 0; job < jobs_.size(); ++job) sum += cost_of(job);
  return sum;
}

void OneTypeSearch::set(std::size_t job, std::int32_t index) {
  jobs_[job].changed = clock_;
  if (jobs_[job].held != kNone) {
    free_[static_cast<std::size_t>(held_type(job))] += held_gpus(job);
  }
  jobs_[job].held = index;
  if (index != kNone) free_[static_cast<std::size_t>(held_type(job))] -= held_gpus(job);
}

void OneTypeSearch::clear() {
  for (std::size_t job = 0; job < jobs_.size(); ++job) set(job, kNone);
}

bool OneTypeSearch::take(std::size_t job, std::int32_t index) {
  const Option& wanted = option(job, index);
  const int available = free(wanted.type) + (held_type(job) == wanted.type ? held_gpus(job) : 0);
  if (wanted.gpus > available) return false;
  set(job, index);
  return true;
}

bool OneTypeSearch::take_cheapest(std::size_t job, int most) {
  std::int32_t best = kNone;
  for (std::size_t type = 0; type < num_types_; ++type) {
    const std::int32_t found =
        best_within(job, static_cast<int>(type), std::min(most, free_[type]));
    if (found == kNone) continue;
    if (best == kNone || option(job, found).cost < option(job, best).cost) best = found;
  }
  if (best != kNone) set(job, best);
  return best != kNone;
}

/// The best change of a job on free GPUs and its own.
OneTypeSearch::Change OneTypeSearch::best_alone(std::size_t job) const {
  Change best;
  const double now = cost_of(job);
  for (std::size_t at = 0; at < num_types_; ++at) {
    const auto type = static_cast<int>(at);
    const int available = free(type) + (held_type(job) == type ? held_gpus(job) : 0);
    const std::int32_t found = best_within(job, type, available);
    if (found == kNone) continue;
    const double gain = now - option(job, found).cost;
    if (gain > best.gain) best = {gain, found, kNone};
  }
  return best;
}

void OneTypeSearch::fill(double least_gain) {
  for (;;) {
    Change best;
    std::size_t of = 0;
    for (std::size_t job = 0; job < jobs_.size(); ++job) {
      const Change found = best_alone(job);
      if (found.gain > best.gain && found.gain > std::max(least_gain, kCostGain) * cost_of(job)) {
        best = found;
        of = job;
      }
    }
    if (best.first == kNone) return;
    set(of, best.first);
  }
}

/// Divides a number of GPUs of one type between two jobs.
void OneTypeSearch::share_out(std::size_t first, std::size_t second, int type, int gpus,
                              Change& best) const {
  const double now = cost_of(first) + cost_of(second);
  const std::size_t* own = type_begin_.data() + first * (num_types_ + 1) + type;
  const std::size_t* others = type_begin_.data() + second * (num_types_ + 1) + type;
  std::size_t wider = others[1];  // what the second one has no room for, as the first one grows
  for (std::size_t at = own[0]; at < own[1]; ++at) {
    const int rest = gpus - options_[at].gpus;
    while (wider > others[0] && options_[wider - 1].gpus > rest) --wider;
    if (wider == others[0]) break;
    const std::int32_t other = cheapest_[wider - 1];
    const double gain = now - options_[at].cost - option(second, other).cost;
    if (gain > best.gain) {
      best = {gain, static_cast<std::int32_t>(at - jobs_[first].begin), other};
    }
  }
}

OneTypeSearch::Change OneTypeSearch::best_of_pair(std::size_t first, std::size_t second) const {
  Change best;
  const int mine = held_type(first);
  const int theirs = held_type(second);
  if (mine == kNone || theirs == kNone) {
    const int type = std::max(mine, theirs);
    if (type == kNone) return best;
    share_out(first, second, type, free(type) + held_gpus(first) + held_gpus(second), best);
    return best;
  }
  if (mine == theirs) {
    share_out(first, second, mine, free(mine) + held_gpus(first) + held_gpus(second), best);
    return best;
  }
  // Both on one of the types, or each where the other one was.
  share_out(first, second, mine, free(mine) + held_gpus(first), best);
  share_out(first, second, theirs, free(theirs) + held_gpus(second), best);
  const std::int32_t there = best_within(first, theirs, free(theirs) + held_gpus(second));
  const std::int32_t here = best_within(second, mine, free(mine) + held_gpus(first));
  if (there == kNone || here == kNone) return best;
  const double gain =
      cost_of(first) + cost_of(second) - option(first, there).cost - option(second, here).cost;
  if (gain > best.gain) best = {gain, there, here};
  return best;
}

void OneTypeSearch::improve(std::int64_t effort) {
  fill(0.0);
  for (Job& job : jobs_) job.changed = clock_;
  // A pair is looked at again once one of the two has changed.
  for (bool is_better = true; is_better && effort > 0;) {
    is_better = false;
    const std::uint32_t before = clock_++;
    for (std::size_t first = 0; first < jobs_.size(); ++first) {
      for (std::size_t second = first + 1; second < jobs_.size(); ++second) {
        if (std::max(jobs_[first].changed, jobs_[second].changed) < before) continue;
        if (--effort < 0) return;
        const Change best = best_of_pair(first, second);
        if (!(best.gain > kCostGain * (cost_of(first) + cost_of(second)))) continue;
        set(first, kNone);
        set(second, kNone);
        set(first, best.first);
        set(second, best.second);
        is_better = true;
      }
    }
    if (is_better) fill(0.0);
  }
}

}  // namespace gpusched
