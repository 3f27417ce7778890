#include "queueing/typed_reservations.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

#include "model/job_classes.hpp"

namespace gpusched {
namespace {

constexpr bool has(TypeMask types, std::size_t type) noexcept { return (types >> type & 1) != 0; }

}  // namespace

void DealtGpus::begin(std::span<const TypeMask> sets, int num_types) {
  num_types_ = static_cast<std::size_t>(num_types);
  sets_.assign(sets.begin(), sets.end());
  sets_.push_back(0);
  from_.resize(num_types_);
  by_.resize(num_types_);
}

bool DealtGpus::leaves(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                       std::size_t set, std::int64_t gpus) {
  // The total of all sets that overlap these types often suffices.
  std::int64_t most = 0;
  for (std::size_t type = 0; type < num_types_; ++type) {
    if (has(sets_[set], type)) most += free[type];
  }
  if (most < gpus) return false;
  for (std::size_t who = 0; who < wanted.size(); ++who) {
    if ((sets_[who] & sets_[set]) != 0) most -= wanted[who];
  }
  if (most >= gpus) return true;
  static_cast<void>(suffice(free, wanted));
  sets_.back() = sets_[set];
  return deal(wanted.size(), gpus) == gpus;
}

void DealtGpus::find_left(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                          std::vector<std::int64_t>& left) {
  static_cast<void>(suffice(free, wanted));
  const auto dealt = std::pair(left_, given_);
  left.clear();
  for (std::size_t set = 0; set < wanted.size(); ++set) {
    std::tie(left_, given_) = dealt;
    sets_.back() = sets_[set];
    left.push_back(deal(wanted.size(), std::numeric_limits<std::int64_t>::max()));
  }
}

bool DealtGpus::suffice(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted) {
  bool is_enough = true;
  left_.assign(free.begin(), free.end());
  given_.assign(sets_.size() * num_types_, 0);
  for (std::size_t who = 0; who < wanted.size(); ++who) {
    if (deal(who, wanted[who]) < wanted[who]) is_enough = false;
  }
  return is_enough;
}

std::int64_t DealtGpus::deal(std::size_t who, std::int64_t wanted) {
  std::int64_t dealt = 0;
  while (dealt < wanted) {
    const std::size_t end = find_free(who);
    if (end == num_types_) break;
    std::int64_t amount = std::min(wanted - dealt, left_[end]);
    for (std::size_t type = end; from_[type] != num_types_; type = from_[type]) {
      amount = std::min(amount, given(by_[type], from_[type]));
    }
    left_[end] -= amount;
    for (std::size_t type = end;; type = from_[type]) {
      given(by_[type], type) += amount;
      if (from_[type] == num_types_) break;
      given(by_[type], from_[type]) -= amount;
    }
    dealt += amount;
  }
  return dealt;
}

/// The nearest type with GPUs left; the number of types if there is none.
std::size_t DealtGpus::find_free(std::size_t who) {
  TypeMask seen = 0;
  reached_.clear();
  const auto reach = [&](std::size_t by, std::size_t from) {
    for (std::size_t type = 0; type < num_types_; ++type) {
      if (!has(sets_[by] & ~seen, type)) continue;
      seen |= TypeMask{1} << type;
      by_[type] = by;
      from_[type] = from;
      reached_.push_back(type);
    }
  };
  reach(who, num_types_);
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::size_t type = reached_[i];
    if (left_[type] > 0) return type;
    for (std::size_t other = 0; other < sets_.size(); ++other) {
      if (given(other, type) > 0) reach(other, type);
    }
  }
  return num_types_;
}

void TypedReservations::begin(const State& state, bool searches_all) {
  state_ = &state;
  searches_all_ = searches_all;
  sets_ = type_sets(state);
  dealt_.begin(sets_, state.cluster().num_types());
  held_.clear();
  starts_.clear();
  due_.clear();
  size_.clear();
  for (int type = 0; type < state.cluster().num_types(); ++type) {
    size_.push_back(state.cluster().gpus_of(TypeMask{1} << type));
  }
  overdue_at_ = kNever;
  steps_.clear();
  Step& first = steps_[Time{0}];
  first.held.resize(size_.size());
  first.wanted.resize(sets_.size());
  no_fit_.assign(sets_.size(), {});
}

std::vector<TypeMask> TypedReservations::type_sets(const State& state) {
  std::vector<TypeMask> sets;
  for (const JobClasses::Group& group : state.classes().groups()) {
    const TypeMask types = group.types & state.cluster().all_types();
    if (std::find(sets.begin(), sets.end(), types) == sets.end()) sets.push_back(types);
  }
  return sets;
}

std::size_t TypedReservations::set_of(JobId job) const {
  const TypeMask types = state_->jobs().types(job) & state_->cluster().all_types();
  return static_cast<std::size_t>(std::find(sets_.begin(), sets_.end(), types) - sets_.begin());
}

std::vector<TypedReservations::Held> TypedReservations::pop() {
  const Time first = this->first();
  std::vector<Held> all;
  for (; !starts_.empty() && starts_.begin()->first == first; starts_.erase(starts_.begin())) {
    const JobId job = starts_.begin()->second;
    all.push_back({job, first});
    held_.erase(job);
    due_.emplace(job, first);
  }
  return all;
}

void TypedReservations::withdraw(JobId job) {
  const auto held = held_.find(job);
  if (held != held_.end()) {
    claim(job, held->second, -1);
    starts_.erase({held->second, job});
    held_.erase(held);
  } else {
    const auto due = due_.find(job);
    claim(job, due->second, -1);
    due_.erase(due);
  }
  no_fit_.assign(sets_.size(), {});
}

/// A started job takes GPUs of specific types, while it reserved any of its set: others may have to
/// use other types. If all reservations still hold, no set has more GPUs left.
void TypedReservations::start(JobId job) {
  const Time now = state_->now();
  const Time end = now + state_->jobs().estimate(job);
  const auto due = due_.find(job);
  const std::size_t set = set_of(job);
  // It was reserved from its due time or the last query on, and runs from now on.
  claim(job, std::max(now, due->second + state_->jobs().estimate(job)), end, 1);
  due_.erase(due);
  Step before;
  change(now, end, [&](Step& step) {
    before = step;
    step.wanted[set] -= state_->jobs().gpus(job);
    take(step, job, 1);
    if (!searches_all_ && !dealt_.suffice(free_in(step), step.wanted)) forget_grown(before, step);
  });
}

void TypedReservations::forget_grown(const Step& before, const Step& after) {
  dealt_.find_left(free_in(before), before.wanted, left_before_);
  dealt_.find_left(free_in(after), after.wanted, left_after_);
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    if (left_after_[set] > left_before_[set]) no_fit_[set].clear();
  }
}

void TypedReservations::finish(JobId job, Time end) {
  const Time now = state_->now();
  hold(job, now, end, -1);
  if (end > now || overdue_at_ == now) no_fit_.assign(sets_.size(), {});
}

void TypedReservations::reserve(const RunningIndex& running, std::span<const JobId> arrived,
                                bool is_early, const RunControl& control) {
  advance();
  move_due();
  // Jobs that exceed their estimate are expected to end at the next tick, at any time.
  const Time now = state_->now();
  const auto hold_overdue = [&](int sign) {
    running.for_each([&](const RunningIndex::Entry& run) {
      if (run.end <= now) hold(run.job, now, now + kTick, sign);
    });
  };
  hold_overdue(1);
  overdue_at_ = now;
  if (is_early) move_up(control);
  for (const JobId job : arrived) {
    control.check();
    const Time at = first_fit(job);
    claim(job, at, 1);
    held_.emplace(job, at);
    starts_.emplace(at, job);
  }
  hold_overdue(-1);
}

/// Drops what is over.
void TypedReservations::advance() {
  const Time now = state_->now();
  steps_.erase(steps_.begin(), step_at(now));
}

/// Due reservations start now and keep their length.
void TypedReservations::move_due() {
  const Time now = state_->now();
  for (auto& [job, since] : due_) {
    const Time length = state_->jobs().estimate(job);
    claim(job, std::max(now, since + length), now + length, 1);
    since = now;
  }
}

void TypedReservations::move_up(const RunControl& control) {
  for (auto& [job, at] : held_) {
    control.check();
    claim(job, at, -1);
    const Time to = std::min(at, earliest(job, state_->now()));
    claim(job, to, 1);
    if (to == at) continue;
    starts_.erase({at, job});
    starts_.emplace(to, job);
    at = to;
  }
  no_fit_.assign(sets_.size(), {});
}

TypedReservations::Steps::iterator TypedReservations::step_at(Time at) {
  const auto after = steps_.upper_bound(at);
  const auto before = std::prev(after);
  return before->first == at ? before : steps_.emplace_hint(after, at, before->second);
}

/// Drops a step that changes nothing.
void TypedReservations::tidy(Steps::iterator step) {
  if (step != steps_.begin() && step->second == std::prev(step)->second) steps_.erase(step);
}

template <class Change>
void TypedReservations::change(Time begin, Time end, Change change) {
  begin = std::max(begin, steps_.begin()->first);
  if (end <= begin) return;
  const auto last = step_at(end);
  const auto first = step_at(begin);
  for (auto step = first; step != last; ++step) change(step->second);
  tidy(last);
  tidy(first);
}

void TypedReservations::claim(JobId job, Time begin, Time end, int sign) {
  const std::size_t set = set_of(job);
  const std::int64_t gpus = sign * state_->jobs().gpus(job);
  change(begin, end, [&](Step& step) { step.wanted[set] += gpus; });
}

void TypedReservations::hold(JobId job, Time begin, Time end, int sign) {
  change(begin, end, [&](Step& step) { take(step, job, sign); });
}

void TypedReservations::take(Step& step, JobId job, int sign) const {
  for (const Piece& piece : state_->slot(job).pieces) {
    step.held[static_cast<std::size_t>(state_->cluster().type(piece.server))] += sign * piece.gpus;
  }
}

std::span<const std::int64_t> TypedReservations::free_in(const Step& step) {
  free_.clear();
  for (std::size_t type = 0; type < size_.size(); ++type) {
    // GPUs that shares are taken of may count more than once.
    free_.push_back(std::max<std::int64_t>(0, size_[type] - step.held[type]));
  }
  return free_;
}

Time TypedReservations::earliest(JobId job, Time from) {
  const std::size_t set = set_of(job);
  const std::int64_t gpus = state_->jobs().gpus(job);
  const Time length = state_->jobs().estimate(job);
  Time since = kNever;
  for (auto step = std::prev(steps_.upper_bound(from)); step != steps_.end(); ++step) {
    const Time at = std::max(step->first, from);
    if (since != kNever && at - since >= length) break;
    if (!dealt_.leaves(free_in(step->second), step->second.wanted, set, gpus)) {
      since = kNever;
    } else if (since == kNever) {
      since = at;
    }
  }
  return since;
}

Time TypedReservations::first_fit(JobId job) {
  const Time now = state_->now();
  if (searches_all_) return earliest(job, now);
  const Time length = state_->jobs().estimate(job);
  NoFitCache& no_fit = no_fit_[set_of(job)][state_->jobs().gpus(job)];
  const Time found = earliest(job, std::max(now, no_fit.until(length)));
  no_fit.rule_out(length, found);
  return found;
}

}  // namespace gpusched
