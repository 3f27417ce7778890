#include "market/own_widths.hpp"

#include <algorithm>
#include <limits>

#include "elastic/consolidation.hpp"

namespace gpusched {

void OwnWidths::begin(const State& state) {
  free_ = state.gpus_up();
  num_gpus_ = static_cast<double>(free_);
  num_jobs_ = 0;
  opened_ = Time{0};
  jobs_.assign(state.jobs().num_jobs(), {});
  waiting_.clear();
  holders_.clear();
  came_.clear();
  settling_.clear();
  spread_.clear();
}

void OwnWidths::open(const State& state, const Instant& instant) {
  for (const JobId id : instant.finished) forget(id);
  for (const JobId id : instant.arrived) {
    ++num_jobs_;
    wait(state, id);
  }
  waiting_.settle();
  end_settling(state);
  watch_spread(state);
  opened_ = state.now();
}

void OwnWidths::forget(JobId id) {
  leave(id);
  --num_jobs_;
}

/// The GPU time left, as MatchingJobs has it.
std::int64_t OwnWidths::key(int gpus, Time remaining) const noexcept {
  const double mean_rate = 1.0 / gpus * num_gpus_ / num_gpus_;
  return key_of(MatchingJobs::seconds(remaining) / mean_rate);
}

OwnWidths::Lines::Entry OwnWidths::entry(Lines::LineId line, const Holder& holder,
                                         Time now) const noexcept {
  const Time remaining = std::max(kTick, Time{holder.end} - now);
  return {key(width(line), remaining), holder.id, width(line)};
}

void OwnWidths::wait(const State& state, JobId id) {
  const int gpus = state.jobs().gpus(id);
  const Lines::LineId line = waiting_.line_of(gpus);
  if (line == holders_.size()) {
    holders_.emplace_back();
    came_.emplace_back();
  }
  jobs_[id] = {line, key(gpus, state.remaining(id)), Place::waiting, false};
  waiting_.add(line, {jobs_[id].key, id, gpus});
}

void OwnWidths::hold(const State& state, JobId id) {
  Job& job = jobs_[id];
  free_ -= width(job.line);
  const Slot& run = state.slot(id);
  job.key = (run.work_end + state.jobs().predicted(id) - state.jobs().service(id)).count();
  if (run.cost > Time{0}) {
    job.place = Place::settling;
    settling_.push_back(id);
  } else {
    job.place = Place::holding;
    came_[job.line].push_back({job.key, id});
  }
  job.is_spread = Consolidation::is_spread(state, id);
  if (!job.is_spread) return;
  MatchingJobs::Job spread;
  spread.id = id;
  spread.least = width(job.line);
  spread.restart_s = MatchingJobs::seconds(state.jobs().restart_cost(id));
  spread.remaining_s = MatchingJobs::seconds(state.remaining(id));
  spread_.push_back(std::move(spread));
}

void OwnWidths::leave(JobId id) {
  Job& job = jobs_[id];
  if (job.place == Place::waiting) {
    waiting_.erase(job.line, {job.key, id, 0});
  } else if (job.place == Place::settling) {
    std::erase(settling_, id);
  } else {
    holders_[job.line].erase({job.key, id});
  }
  if (job.place != Place::waiting) {
    free_ += width(job.line);
    job.is_spread = false;
  }
  job.place = Place::nowhere;
}

/// Jobs that have paid for their restarts may stop from now on.
void OwnWidths::end_settling(const State& state) {
  std::erase_if(settling_, [&](JobId id) {
    const Slot& run = state.slot(id);
    if (state.now() <= run.paid_at()) return false;
    jobs_[id].place = Place::holding;
    holders_[jobs_[id].line].insert({jobs_[id].key, id});
    return true;
  });
}

void OwnWidths::drop_gone() {
  std::erase_if(spread_, [&](const MatchingJobs::Job& job) { return !jobs_[job.id].is_spread; });
}

/// As MatchingJobs watches all running jobs.
void OwnWidths::watch_spread(const State& state) {
  drop_gone();
  for (MatchingJobs::Job& job : spread_) {
    const Slot& run = state.slot(job.id);
    const double before_s = job.remaining_s;
    job.remaining_s = MatchingJobs::seconds(state.remaining(job.id));
    const bool is_seen = run.paid_at() <= opened_ && opened_ < state.now();
    job.seen_rate =
        is_seen ? (before_s - job.remaining_s) / MatchingJobs::seconds(state.now() - opened_) : 0.0;
  }
  const auto place = [&](const MatchingJobs::Job& job) {
    return std::pair(key(job.least, state.remaining(job.id)), job.id);
  };
  std::sort(spread_.begin(), spread_.end(),
            [&](const auto& a, const auto& b) { return place(a) < place(b); });
}

std::function<std::optional<JobId>()> OwnWidths::waiting() const {
  return [walk = Lines::Walk(waiting_)]() mutable -> std::optional<JobId> {
    const Lines::Entry* next = walk.first(is_any_width);
    if (next == nullptr) return std::nullopt;
    const JobId id = next->id;
    walk.pop();
    return id;
  };
}

template <class Visit>
void OwnWidths::for_each_from_last(Lines::LineId line, Time now, Visit visit) const {
  const auto& blocks = holders_[line].blocks();
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    for (auto holder = block->entries.rbegin(); holder != block->entries.rend(); ++holder) {
      if (!visit(entry(line, *holder, now))) return;
    }
  }
}

std::int64_t OwnWidths::held_behind(const Lines::Entry& place, Time now,
                                    std::int64_t enough) const {
  std::int64_t gpus = 0;
  for (Lines::LineId line = 0; line < holders_.size() && gpus < enough; ++line) {
    for_each_from_last(line, now, [&](const Lines::Entry& holder) {
      // Ends that differ may have one key: then the lower JobId decides, not the end.
      if (holder.key < place.key) return false;
      if (place < holder) gpus += holder.item;
      return gpus < enough;
    });
  }
  return gpus;
}

/// In the order of all jobs, of those that run and those that wait, each is given its width if that
/// is left. So one that waits is chosen if what is free and what those behind it hold is enough, and
/// what is missing then is missing to the last ones of those that run.
void OwnWidths::choose(const State& state, bool may_stop) {
  starts_.clear();
  stops_.clear();
  std::int64_t left = free_;
  Lines::Walk waiting(waiting_);
  while (const Lines::Entry* next = waiting.first(is_any_width)) {
    bool is_chosen = next->item <= left;
    if (!is_chosen && may_stop) {
      const std::int64_t enough = next->item - left;
      const std::int64_t behind = held_behind(*next, state.now(), enough);
      is_chosen = behind >= enough;
      // A job before it has to stop, and may leave enough.
      if (!is_chosen && behind + left < 0) break;
    }
    if (is_chosen) {
      starts_.push_back(next->id);
      left -= next->item;
      waiting.pop();
    } else {
      waiting.drop_line();
    }
  }
  if (left >= 0) return;
  find_last(state.now(), -left);
  for (const Lines::Entry& holder : last_) left += holder.item;
  choose_among_last(waiting, left);
}

/// The last running jobs, in order: as few as hold this many GPUs.
void OwnWidths::find_last(Time now, std::int64_t gpus) {
  last_.clear();
  for (Lines::LineId line = 0; line < holders_.size(); ++line) {
    std::int64_t found = 0;
    for_each_from_last(line, now, [&](const Lines::Entry& holder) {
      // One with the key of the last one may be behind it.
      if (found >= gpus && holder.key != last_.back().key) return false;
      last_.push_back(holder);
      found += holder.item;
      return true;
    });
  }
  std::sort(last_.begin(), last_.end());
  auto first = last_.end();
  for (std::int64_t found = 0; found < gpus; found += first->item) --first;
  last_.erase(last_.begin(), first);
}

/// Continues in order from there, with this many GPUs left.
void OwnWidths::choose_among_last(Lines::Walk& waiting, std::int64_t left) {
  auto holder = last_.begin();
  while (left > 0) {
    const Lines::Entry* next = waiting.first([&](int gpus) { return gpus <= left; });
    if (holder != last_.end() && (next == nullptr || *holder < *next)) {
      if (holder->item > left) {
        stops_.push_back(holder->id);
      } else {
        left -= holder->item;
      }
      ++holder;
    } else if (next != nullptr) {
      starts_.push_back(next->id);
      left -= next->item;
      waiting.pop();
    } else {
      return;
    }
  }
  for (; holder != last_.end(); ++holder) stops_.push_back(holder->id);
}

void OwnWidths::update(const State& state, std::span<const JobId> others,
                       std::span<const JobId> moved) {
  holding_.clear();
  for (const JobId id : stops_) {
    leave(id);
    wait(state, id);
  }
  waiting_.settle();
  for (const std::span<const JobId> jobs : {starts(), others, moved}) {
    for (const JobId id : jobs) {
      // Some are named twice, and some that were chosen found no place.
      if (jobs_[id].place == Place::nowhere || !state.is_running(id)) continue;
      leave(id);
      holding_.push_back(id);
    }
  }
  drop_gone();
  for (const JobId id : holding_) hold(state, id);
  for (Lines::LineId line = 0; line < holders_.size(); ++line) {
    holders_[line].insert_all(came_[line]);
    came_[line].clear();
  }
}

}  // namespace gpusched
