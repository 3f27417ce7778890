#include "queueing/deep_backfilling.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {

void Reservations::begin(const Setup& setup, const RunningIndex& running, bool admits_extra,
                         Time margin) {
  margin_ = margin;
  placement_ = &setup.placement;
  running_ = &running;
  admits_extra_ = admits_extra;
  clear();
}

void Reservations::lay_out_steps(const State& state) {
  if (!steps_.empty()) return;
  const Time soonest = state.now() + kTick;
  steps_.push_back({state.now(), state.occupancy().num_free()});
  running_->for_each([&](const RunningIndex::Entry& run) {
    const Time end = std::max(run.end, soonest);
    if (steps_.back().at != end) steps_.push_back({end, steps_.back().free});
    steps_.back().free += run.gpus;
  });
  for (const Held& held : held_) take(held);
}

std::size_t Reservations::step_at(Time at) {
  const auto after = std::upper_bound(steps_.begin(), steps_.end(), at,
                                      [](Time time, const Step& step) { return time < step.at; });
  const auto before = std::prev(after);
  const auto step = before->at == at ? before : steps_.insert(after, {at, before->free});
  return static_cast<std::size_t>(step - steps_.begin());
}

void Reservations::take(const Held& held) {
  const std::size_t begin = step_at(held.begin);
  const std::size_t end = step_at(held.end);
  for (std::size_t step = begin; step < end; ++step) steps_[step].free -= held.gpus;
}

/// Checks from this step on; advances to the first one with too few GPUs, if any.
bool Reservations::is_free(std::size_t& step, std::int64_t gpus, Time end) const {
  do {
    if (steps_[step].free < gpus) return false;
    ++step;
  } while (step < steps_.size() && steps_[step].at < end);
  return true;
}

std::size_t Reservations::next_fit(std::size_t step, std::int64_t gpus, Time length) const {
  while (++step < steps_.size()) {
    std::size_t last = step;
    if (is_free(last, gpus, steps_[step].at + length)) break;
    step = last;
  }
  return step;
}

void Reservations::add(const State& state, JobId job) {
  lay_out_steps(state);
  Held held;
  if (!find(state, state.request(job), state.jobs().estimate(job), held)) return;
  take(held);
  held_.push_back(std::move(held));
}

/// If too few are free in total for a while, the placement need not be called.
bool Reservations::find(const State& state, const Request& request, Time length, Held& held) {
  free_ = state.occupancy();
  auto next = running_->first_after(Time{-1});
  for (std::size_t step = 0;
       (step = next_fit(step, request.gpus, length + margin_)) < steps_.size();) {
    const Time at = steps_[step].at;
    if (placement_->is_pooled()) {
      held = {at, at + length, request.gpus, 0, {}};
      return true;
    }
    for (; next.is_valid() && running_->at(next).end <= at; running_->step(next)) {
      const Slot& run = state.slot(running_->at(next).job);
      free_->release(run.gpus, run.pieces);
    }
    if (!accepts(request, at, at + length + margin_)) continue;
    held = {at, at + length, request.gpus, 0, allocation_.pieces};
    return true;
  }
  return false;
}

bool Reservations::accepts(const Request& request, Time begin, Time end) {
  const auto can_be_placed = [&](const Occupancy& left) {
    return placement_->widest(left, request.types) >= request.room() &&
           placement_->place(left, request, allocation_);
  };
  if (!can_be_placed(*free_)) return false;
  left_ = free_;  // in its memory
  for (const Held& held : held_) {
    if (held.begin >= end || begin >= held.end) continue;
    taken_.reset(0);
    for (Piece piece : held.pieces) {
      // Later reservations may use GPUs that a running job still holds.
      piece.mask &= left_->free_mask(piece.server);
      piece.gpus = std::popcount(piece.mask);
      if (piece.gpus == 0) continue;
      taken_.pieces.push_back(piece);
      taken_.gpus += piece.gpus;
    }
    if (taken_.gpus > 0) left_->acquire(taken_.gpus, taken_.pieces);
  }
  return can_be_placed(*left_);
}

/// Where a job must end before a reserved start on its GPUs, those that end at it have others, which
/// are not free there for the next. Returns whether a job that starts now leaves enough for all.
bool Reservations::touch(std::int64_t gpus, Time end) {
  const auto spare = [&](const Held& held) {
    return steps_[step_at(held.begin)].free - held.touching;
  };
  const bool is_harmless = std::none_of(held_.begin(), held_.end(), [&](const Held& held) {
    return end > held.begin && spare(held) < gpus;
  });
  for (Held& held : held_) {
    if (is_harmless && end > held.begin && end - margin_ <= held.begin) held.touching += gpus;
  }
  return is_harmless;
}

bool Reservations::admits(const State& state, JobId job, const Allocation& allocation) {
  const Time end = state.now() + state.jobs().estimate(job) + margin_;
  const auto outlives = [&](const Held& held) { return end > held.begin; };
  if (std::none_of(held_.begin(), held_.end(), outlives)) return true;
  if (!admits_extra_) return false;
  if (placement_->is_pooled()) {
    lay_out_steps(state);
    std::size_t step = 0;
    if (!is_free(step, allocation.gpus, end)) return false;
    return margin_ == Time{0} || touch(allocation.gpus, end);
  }
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
  lines_.assign(classes.num_classes(), {});
  heads_.begin(classes);
  moved_.clear();
  held_.clear();
}

void KeyedLines::add(ClassId id, KeyedJob job) {
  lines_[id].insert(job);
  if (job < heads_[id]) heads_.set(id, job);
}

void KeyedLines::remove(ClassId id, KeyedJob job) {
  const auto next = lines_[id].erase(lines_[id].find(job));
  if (heads_[id].job == job.job) show(id, next);
}

void KeyedLines::pass(ClassId id) {
  moved_.push_back(id);
  show(id, lines_[id].upper_bound(heads_[id]));
}

void KeyedLines::hold(ClassId id) {
  held_.push_back(id);
  close(id);
}

void KeyedLines::start(ClassId id) {
  const KeyedJob job = heads_[id];
  moved_.push_back(id);
  show(id, lines_[id].erase(lines_[id].find(job)));
  for (const ClassId other : held_) show(other, lines_[other].upper_bound(job));
  held_.clear();
}

void KeyedLines::end_walk() {
  heads_.reopen([this](ClassId id) { show(id, lines_[id].begin()); });
  for (const ClassId id : moved_) show(id, lines_[id].begin());
  moved_.clear();
  held_.clear();
}

void DeepBackfilling::begin(const Setup& setup) {
  if (rule_.depth > 1 && setup.state.jobs().has_demands()) {
    fail_input(
        "parameter depth: above 1 reservations are for whole GPUs only, but jobs request "
        "shares, CPU or memory; use depth=1");
  }
  placement_ = &setup.placement;
  control_ = &setup.control;
  is_slow_ = takes_slow_twins;
  waiting_.clear();
  lines_.begin(setup.state.classes());
  placeable_.begin(setup, lines_.heads());
  head_.begin(setup, rule_.admits_extra, rule_.margin);
  promises_.begin(setup, head_.running(), rule_.admits_extra, rule_.margin);
  promised_.clear();
}

bool DeepBackfilling::withdraw(const State& state, JobId job) {
  waiting_.erase(queued(state, job));
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
    make_promises(state);
    const bool is_harmless = rule_.depth == 1 ? head_.admits(state, job, allocation_)
                                              : promises_.admits(state, job, allocation_);
    if (!is_harmless) return Outcome::harmful;
  }
  actions.start(job, allocation_);
  head_.start(state, job);
  promises_.forget_steps();
  waiting_.erase(queued(state, job));
  return Outcome::started;
}

void DeepBackfilling::promise(const State& state, JobId job) {
  if (rule_.depth == 1) {
    head_.make(state, job);
  } else {
    promised_.push_back(job);
  }
  ++num_promised_;
}

/// Call before any job starts on promised GPUs: only then is the spare capacity known.
void DeepBackfilling::make_promises(const State& state) {
  for (const JobId job : promised_) {
    control_->check();
    promises_.add(state, job);
  }
  promised_.clear();
}

void DeepBackfilling::decide(const State& state, const Instant& instant, Actions& actions) {
  if (instant.has_other_gpus) head_.change_gpus();
  for (const JobId job : instant.finished) head_.finish(state, job);
  for (const JobId job : instant.arrived) {
    waiting_.insert(waiting_.end(), queued(state, job));
    lines_.add(state.classes().of(job), keyed(state, job));
  }
  num_promised_ = 0;
  promises_.clear();
  promised_.clear();
  const bool is_full = state.occupancy().num_free() == 0 && !state.jobs().has_demands();
  auto next = waiting_.begin();
  KeyedJob last = kNoKeyedJob;  // with a reservation
  while (!is_full && next != waiting_.end() && num_promised_ < rule_.depth) {
    control_->check();
    const KeyedJob first = *next++;
    const JobId job = first.job;
    if (try_start(state, job, actions) == Outcome::started) {
      lines_.remove(state.classes().of(job), keyed(state, job));
    } else {
      promise(state, job);
      last = first;
    }
  }
  if (is_full || num_promised_ < rule_.depth) {
    head_.rest();
  } else {
    walk_others(state, last, actions);
  }
}

/// A refusal by the placement holds for the whole class and for all later jobs. A job that would
/// violate a promise stays in the way until others start, and so do all longer ones of its class.
void DeepBackfilling::walk_others(const State& state, const KeyedJob& last, Actions& actions) {
  const bool rises = rule_.shortest_first && !state.jobs().has_precedences() &&
                     !placement_->allocation_depends_on_job();
  placeable_.begin_walk(state);
  ClassId id = 0;
  for (KeyedJob next = placeable_.least(lines_.heads(), state, id); next.job != kNoJob;
       next = placeable_.least(lines_.heads(), state, id)) {
    control_->check();
    const bool is_promised = !(last < queued(state, next.job));
    const Outcome outcome = is_promised ? Outcome::harmful : try_start(state, next.job, actions);
    if (outcome == Outcome::started) {
      lines_.start(id);
      placeable_.measure(state);
    } else if (is_slow_ || is_promised || (outcome == Outcome::harmful && !rises)) {
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
