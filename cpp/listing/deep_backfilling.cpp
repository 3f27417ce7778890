#include "listing/deep_backfilling.hpp"

#include <algorithm>
#include <bit>
#include <string>

#include "base/check.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {

void Reservations::begin(const Setup& setup, const RunningIndex& running, bool admits_extra) {
  placement_ = &setup.placement;
  running_ = &running;
  admits_extra_ = admits_extra;
  held_.clear();
}

/// When GPUs come free, in order: an end that has passed counts as the next tick.
void Reservations::find_instants(const State& state) {
  const Time soonest = state.now() + kTick;
  instants_.clear();
  running_->for_each(
      [&](const RunningIndex::Entry& run) { instants_.push_back(std::max(run.end, soonest)); });
  for (const Held& held : held_) instants_.push_back(held.end);
  std::sort(instants_.begin(), instants_.end());
  instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
}

void Reservations::add(const State& state, JobId job) {
  find_instants(state);
  const Time length = state.jobs().estimate(job);
  const std::size_t num_before = held_.size();
  if (placement_->is_pooled()) {
    add_in_pool(state, state.request(job), length);
  } else {
    add_on_servers(state, state.request(job), length);
  }
  if (held_.size() == num_before) {
    throw InvariantError("at " + std::to_string(state.now().count()) + " us, job " +
                         std::to_string(job) + ": no instant can be promised to it");
  }
}

std::int64_t Reservations::free_at(const State& state, Time at) const {
  std::int64_t free = state.occupancy().num_free();
  if (at > state.now()) free += running_->sum_until(at);
  for (const Held& held : held_) {
    if (held.begin <= at && at < held.end) free -= held.gpus;
  }
  return free;
}

/// Running jobs only give back, so there is least at the start or as a promise begins.
std::int64_t Reservations::least_free(const State& state, Time begin, Time end) const {
  std::int64_t least = free_at(state, begin);
  for (const Held& held : held_) {
    if (begin < held.begin && held.begin < end) {
      least = std::min(least, free_at(state, held.begin));
    }
  }
  return least;
}

void Reservations::add_in_pool(const State& state, const Request& request, Time length) {
  for (const Time at : instants_) {
    if (least_free(state, at, at + length) < request.gpus) continue;
    held_.push_back({at, at + length, request.gpus, {}});
    return;
  }
}

bool Reservations::accepts(const Occupancy& free, const Request& request, Time begin, Time end) {
  const auto can_be_placed = [&](const Occupancy& left) {
    return placement_->widest(left, request.types) >= request.room() &&
           placement_->place(left, request, allocation_);
  };
  const bool is_alone = std::none_of(held_.begin(), held_.end(), [&](const Held& held) {
    return held.begin < end && begin < held.end;
  });
  if (is_alone || !can_be_placed(free)) return is_alone && can_be_placed(free);
  Occupancy left = free;
  for (const Held& held : held_) {
    if (held.begin >= end || begin >= held.end) continue;
    taken_.reset(0);
    for (Piece piece : held.pieces) {
      // What is promised for later may be held by a job that still runs.
      piece.mask &= left.free_mask(piece.server);
      piece.gpus = std::popcount(piece.mask);
      if (piece.gpus == 0) continue;
      taken_.pieces.push_back(piece);
      taken_.gpus += piece.gpus;
    }
    if (taken_.gpus > 0) left.acquire(taken_.gpus, taken_.pieces);
  }
  return can_be_placed(left);
}

void Reservations::add_on_servers(const State& state, const Request& request, Time length) {
  Occupancy free = state.occupancy();
  auto next = running_->first_after(Time{-1});
  for (const Time at : instants_) {
    for (; next.is_valid() && running_->at(next).end <= at; running_->step(next)) {
      const Slot& run = state.slot(running_->at(next).job);
      free.release(run.gpus, run.pieces);
    }
    if (!accepts(free, request, at, at + length)) continue;
    held_.push_back({at, at + length, request.gpus, allocation_.pieces});
    return;
  }
}

bool Reservations::admits(const State& state, JobId job, const Allocation& allocation) const {
  const Time end = state.now() + state.jobs().estimate(job);
  const auto outlives = [&](const Held& held) { return end > held.begin; };
  if (std::none_of(held_.begin(), held_.end(), outlives)) return true;
  if (!admits_extra_) return false;
  if (placement_->is_pooled()) return least_free(state, state.now(), end) >= allocation.gpus;
  return std::none_of(held_.begin(), held_.end(), [&](const Held& held) {
    if (!outlives(held)) return false;
    return std::any_of(allocation.pieces.begin(), allocation.pieces.end(), [&](const Piece& mine) {
      return std::any_of(held.pieces.begin(), held.pieces.end(), [&](const Piece& piece) {
        return piece.server == mine.server && (piece.mask & mine.mask) != 0;
      });
    });
  });
}

void KeyedLines::begin(const JobClasses& classes) {
  classes_ = &classes;
  lines_.assign(classes.num_classes(), {});
  heads_.assign(classes.num_classes(), kNoKeyedJob);
  is_refused_.assign(classes.num_classes(), 0);
  tree_.begin(classes);
  moved_.clear();
  held_.clear();
}

void KeyedLines::set_head(ClassId id, KeyedJob head) {
  heads_[id] = head;
  if (!tree_.empty()) tree_.update(id, leaves());
}

void KeyedLines::add(ClassId id, KeyedJob job) {
  lines_[id].insert(job);
  if (job < heads_[id]) set_head(id, job);
}

void KeyedLines::remove(ClassId id, KeyedJob job) {
  const auto next = lines_[id].erase(lines_[id].find(job));
  if (heads_[id].job == job.job) set_head(id, next);
}

KeyedJob KeyedLines::next(std::span<const std::int64_t> widest, ClassId& id) const {
  KeyedJob best = kNoKeyedJob;
  for (std::size_t i = 0; i < widest.size(); ++i) {
    const JobClasses::Group& group = classes_->groups()[i];
    if (!tree_.empty()) {
      ClassId at = 0;
      const auto fits = [](ClassId) { return true; };
      const KeyedJob least =
          tree_.least(leaves(), group.begin, group.end, ClassTree::Most{widest[i]}, fits, at);
      if (!(least < best)) continue;
      best = least;
      id = at;
      continue;
    }
    for (ClassId at = group.begin; at < group.end && classes_->room(at) <= widest[i]; ++at) {
      if (!(heads_[at] < best)) continue;
      best = heads_[at];
      id = at;
    }
  }
  return best;
}

void KeyedLines::pass(ClassId id) {
  moved_.push_back(id);
  set_head(id, lines_[id].upper_bound(heads_[id]));
}

void KeyedLines::close(ClassId id) {
  moved_.push_back(id);
  set_head(id, kNoKeyedJob);
}

void KeyedLines::hold(ClassId id) {
  held_.push_back(id);
  close(id);
}

void KeyedLines::start(ClassId id) {
  const KeyedJob job = heads_[id];
  moved_.push_back(id);
  set_head(id, lines_[id].erase(lines_[id].find(job)));
  for (const ClassId other : held_) set_head(other, lines_[other].upper_bound(job));
  held_.clear();
}

void KeyedLines::end_walk() {
  for (const ClassId id : moved_) set_head(id, lines_[id].begin());
  moved_.clear();
  held_.clear();
}

void DeepBackfilling::begin(const Setup& setup) {
  if (rule_.depth > 1 && setup.state.jobs().has_demands()) {
    fail_input(
        "parameter depth: above 1 only whole GPUs are promised, and the jobs ask for shares, CPU or "
        "memory");
  }
  placement_ = &setup.placement;
  control_ = &setup.control;
  is_slow_ = takes_slow_twins;
  waiting_.clear();
  lines_.begin(setup.state.classes());
  head_.begin(setup, rule_.admits_extra);
  promises_.begin(setup, head_.running(), rule_.admits_extra);
}

bool DeepBackfilling::withdraw(const State& state, JobId job) {
  waiting_.erase(job);
  lines_.remove(state.classes().of(job), keyed(state, job));
  return true;
}

bool DeepBackfilling::adopt(const State& state) {
  state.for_each_running([&](const Slot& run) { head_.start(state, run.job); });
  return true;
}

DeepBackfilling::Outcome DeepBackfilling::try_start(const State& state, JobId job,
                                                    Actions& actions) {
  const Request request = state.request(job);
  if (placement_->widest(state.occupancy(), request.types) < request.room() ||
      !placement_->place(state.occupancy(), request, allocation_)) {
    return Outcome::refused;
  }
  if (num_promised_ > 0) {
    const bool is_harmless = rule_.depth == 1 ? head_.admits(state, job, allocation_)
                                              : promises_.admits(state, job, allocation_);
    if (!is_harmless) return Outcome::harmful;
  }
  actions.start(job, allocation_);
  head_.start(state, job);
  waiting_.erase(job);
  return Outcome::started;
}

void DeepBackfilling::promise(const State& state, JobId job) {
  if (rule_.depth == 1) {
    head_.make(state, job);
  } else {
    promises_.add(state, job);
  }
  ++num_promised_;
}

void DeepBackfilling::measure(const State& state) {
  widest_.clear();
  for (const JobClasses::Group& group : state.classes().groups()) {
    widest_.push_back(placement_->widest(state.occupancy(), group.types));
  }
}

void DeepBackfilling::decide(const State& state, const Instant& instant, Actions& actions) {
  for (const JobId job : instant.finished) head_.finish(state, job);
  for (const JobId job : instant.arrived) {
    waiting_.insert(waiting_.end(), job);
    lines_.add(state.classes().of(job), keyed(state, job));
  }
  num_promised_ = 0;
  promises_.clear();
  const bool is_full = state.occupancy().num_free() == 0 && !state.jobs().has_demands();
  auto next = waiting_.begin();
  JobId last = kNoJob;  // that is promised anything
  while (!is_full && next != waiting_.end() && num_promised_ < rule_.depth) {
    control_->check();
    const JobId job = *next++;
    if (try_start(state, job, actions) == Outcome::started) {
      lines_.remove(state.classes().of(job), keyed(state, job));
    } else {
      promise(state, job);
      last = job;
    }
  }
  if (is_full || num_promised_ < rule_.depth) {
    head_.rest();
  } else {
    walk_others(state, last, actions);
  }
}

/// What the placement refuses to one it refuses to all of the class, and to all who come later. Who
/// does not leave a promise alone stands in its way until others start, as do all of the class that
/// run for longer.
void DeepBackfilling::walk_others(const State& state, JobId last, Actions& actions) {
  const bool rises = rule_.shortest_first && !placement_->names_depend_on_job();
  measure(state);
  ClassId id = 0;
  for (KeyedJob next = lines_.next(widest_, id); next.job != kNoJob;
       next = lines_.next(widest_, id)) {
    control_->check();
    const Outcome outcome =
        next.job <= last ? Outcome::harmful : try_start(state, next.job, actions);
    if (outcome == Outcome::started) {
      lines_.start(id);
      measure(state);
    } else if (is_slow_ || next.job <= last || (outcome == Outcome::harmful && !rises)) {
      lines_.pass(id);
    } else if (outcome == Outcome::refused) {
      lines_.close(id);
    } else {
      lines_.hold(id);
    }
  }
  lines_.end_walk();
}

}  // namespace gpusched
