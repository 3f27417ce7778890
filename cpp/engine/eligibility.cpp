#include "engine/eligibility.hpp"

#include <algorithm>
#include <tuple>

namespace gpusched {

bool Eligibility::Due::operator<(const Due& other) const noexcept {
  return std::tie(at, is_release, job) < std::tie(other.at, other.is_release, other.job);
}

void Eligibility::begin(bool kills_impossible) {
  const JobTable& jobs = state_->jobs();
  if (!jobs.has_conditions()) return;
  kills_impossible_ = kills_impossible;
  eligible_us_.assign(jobs.num_jobs(), kNotYet);
  conditions_.resize(jobs.num_jobs());
  for (const std::int32_t limit : jobs.columns().array_limit) arrays_.push_back({limit, {}});
  if (!jobs.columns().dependency_target.empty()) read_dependencies();
}

/// Sorts the dependencies by their target.
void Eligibility::read_dependencies() {
  const JobTable& jobs = state_->jobs();
  const JobColumns& columns = jobs.columns();
  const auto& begin = columns.dependency_begin;
  const auto& target = columns.dependency_target;
  // While they are filled in, the place of the next dependent of a job stands one further.
  first_dependent_.assign(std::size_t{jobs.num_jobs()} + 2, 0);
  for (const std::int64_t job : target) ++first_dependent_[static_cast<std::size_t>(job) + 2];
  for (std::size_t at = 1; at < first_dependent_.size(); ++at) {
    first_dependent_[at] += first_dependent_[at - 1];
  }
  dependents_.resize(target.size());
  for (JobId job = 0; job < jobs.num_jobs(); ++job) {
    Conditions& own = conditions_[job];
    own.num_open = static_cast<std::int32_t>(begin[job + 1] - begin[job]);
    own.is_met = own.num_open == 0;
    own.is_any = !columns.dependency_any.empty() && columns.dependency_any[job] != 0;
    for (auto row = static_cast<std::size_t>(begin[job]);
         row < static_cast<std::size_t>(begin[job + 1]); ++row) {
      const Time delay{columns.dependency_delay_us.empty() ? 0 : columns.dependency_delay_us[row]};
      std::size_t& place = first_dependent_[static_cast<std::size_t>(target[row]) + 1];
      dependents_[place++] = {job, static_cast<Dependency>(columns.dependency_kind[row]), delay};
    }
  }
}

std::span<const Eligibility::Dependent> Eligibility::dependents(JobId job) const noexcept {
  if (dependents_.empty()) return {};
  const std::size_t first = first_dependent_[job];
  return std::span(dependents_).subspan(first, first_dependent_[std::size_t{job} + 1] - first);
}

/// The array whose limit may hold the job; -1: none.
std::int32_t Eligibility::limiting(JobId job) const noexcept {
  const JobColumns& columns = state_->jobs().columns();
  if (columns.array.empty() || columns.array[job] < 0) return -1;
  const std::int32_t array = columns.array[job];
  return columns.array_limit[static_cast<std::size_t>(array)] < 0 ? -1 : array;
}

bool Eligibility::is_stale(const Due& due) const noexcept {
  if (due.is_release) {
    const Conditions& own = conditions_[due.job];
    return !state_->is_held(due.job) || own.is_ready || due.at != ready_at(due.job);
  }
  return !state_->is_live(due.job);
}

Time Eligibility::next() {
  while (!due_.empty() && is_stale(due_.top())) due_.pop();
  return due_.empty() ? kNever : due_.top().at;
}

std::vector<JobId> Eligibility::take_cancelled() {
  std::vector<JobId> cancelled;
  while (next() == state_->now()) {
    const Due due = due_.top();
    due_.pop();
    if (due.is_release) {
      make_ready(due.job);
    } else {
      cancelled.push_back(due.job);
    }
  }
  return cancelled;
}

bool Eligibility::arrive(JobId job) {
  const JobTable& jobs = state_->jobs();
  if (const Time at = jobs.cancel_at(job); at != kNever) due_.push({at, false, job});
  const bool is_free =
      conditions_[job].is_met && ready_at(job) <= state_->now() && limiting(job) < 0;
  if (is_free) {
    eligible_us_[job] = state_->now().count();
    conditions_[job].is_ready = true;
  }
  return is_free;
}

void Eligibility::find_started(JobId job, Time start, bool runs) {
  for (const Dependent& other : dependents(job)) {
    if (other.kind == Dependency::start) meet(other.job, start + other.delay);
  }
  if (!runs) return;
  eligible_us_[job] = state_->now().count();
  if (const std::int32_t array = limiting(job); array >= 0) {
    --arrays_[static_cast<std::size_t>(array)].room;
  }
}

void Eligibility::hold(JobId job) {
  if (conditions_[job].is_impossible) {
    give_up(job);
  } else if (conditions_[job].is_met) {
    look(job);
  }
}

/// The dependencies of a held job are met, now or at a known time.
void Eligibility::look(JobId job) {
  const Time at = ready_at(job);
  if (at <= state_->now()) {
    make_ready(job);
  } else if (at != kNever) {
    due_.push({at, true, job});
  }
}

void Eligibility::make_ready(JobId job) {
  conditions_[job].is_ready = true;
  ready_.push_back(job);
}

void Eligibility::meet(JobId job, Time at) {
  Conditions& own = conditions_[job];
  if (own.is_any) {
    own.met_at = own.is_met ? std::min(own.met_at, at) : at;
    own.is_met = true;
  } else {
    own.met_at = std::max(own.met_at, at);
    own.is_met = --own.num_open == 0;
  }
  if (own.is_met && !own.is_ready && state_->is_held(job)) look(job);
}

void Eligibility::rule_out(JobId job) {
  Conditions& own = conditions_[job];
  if (own.is_impossible || (own.is_any && --own.num_open > 0)) return;
  own.is_impossible = true;
  if (state_->is_held(job)) give_up(job);
}

void Eligibility::give_up(JobId job) {
  eligible_us_[job] = kImpossible;
  if (kills_impossible_) impossible_.push_back(job);
}

void Eligibility::see_starts(std::span<const Event> events) {
  const Time now = state_->now();
  for (const Event& event : events) {
    if (event.kind != EventKind::start || state_->record(event.job).start != now) continue;
    for (const Dependent& other : dependents(event.job)) {
      if (other.kind != Dependency::start) continue;
      meet(other.job, now + std::max(other.delay, kTick));  // this instant's releases are over
    }
  }
}

void Eligibility::see_ends(std::span<const Event> events) {
  for (const Event& event : events) {
    const JobId job = event.job;
    if (state_->is_live(job)) continue;
    const std::int32_t array = limiting(job);
    if (array >= 0 && eligible_us_[job] >= 0) {
      ++arrays_[static_cast<std::size_t>(array)].room;
      touched_.push_back(array);
    }
    const bool is_ok = event.kind == EventKind::finish && !state_->jobs().exit_failed(job);
    for (const Dependent& other : dependents(job)) see_end(other, job, is_ok);
  }
}

void Eligibility::see_end(const Dependent& other, JobId job, bool is_ok) {
  switch (other.kind) {
    case Dependency::start:
      if (state_->record(job).start == kNever) meet(other.job, state_->now() + other.delay);
      return;
    case Dependency::end:
      return meet(other.job, state_->now());
    case Dependency::success:
      return is_ok ? meet(other.job, state_->now()) : rule_out(other.job);
    case Dependency::failure:
      return is_ok ? rule_out(other.job) : meet(other.job, state_->now());
  }
}

std::vector<JobId> Eligibility::take_released() {
  std::vector<JobId> released;
  for (const JobId job : std::exchange(ready_, {})) {
    if (!state_->is_held(job)) continue;  // cancelled or rejected at this instant
    const std::int32_t array = limiting(job);
    if (array < 0) {
      released.push_back(job);
    } else {
      arrays_[static_cast<std::size_t>(array)].line.insert(job);
      touched_.push_back(array);
    }
  }
  for (const std::int32_t array : std::exchange(touched_, {})) {
    auto& [room, line] = arrays_[static_cast<std::size_t>(array)];
    while (room > 0 && !line.empty()) {
      const JobId job = *line.begin();
      line.erase(line.begin());
      if (!state_->is_held(job)) continue;
      --room;
      released.push_back(job);
    }
  }
  std::sort(released.begin(), released.end());
  for (const JobId job : released) eligible_us_[job] = state_->now().count();
  return released;
}

}  // namespace gpusched
