#include "queueing/head_reservation.hpp"

#include <algorithm>
#include <utility>

#include "base/ids.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {

void ExpectedGpus::begin(const State& state, const RunningIndex& running) {
  state_ = &state;
  running_ = &running;
  set_.reset();
  at_ = kNoEnd;
  const Occupancy& free = state.occupancy();
  can_rest_ = !free.has_demands() && !free.has_shapes();
  rests_ = true;
  is_stale_ = true;
  differing_.clear();
  // A server costs more to be brought up to date alone than with all.
  most_differing_ = static_cast<std::size_t>(state.cluster().num_servers()) / 8;
}

void ExpectedGpus::move(const Slot& run, JobId job, bool is_release) {
  const Demand* demand = state_->jobs().demand(job);
  if (is_release) {
    set_->release(run.gpus, run.pieces, demand);
  } else {
    set_->acquire(run.gpus, run.pieces, demand);
  }
}

void ExpectedGpus::note(const Slot& run) {
  if (is_stale_) return;
  if (differing_.size() + run.pieces.size() > most_differing_) {
    is_stale_ = true;
    return;
  }
  for (const Piece& piece : run.pieces) differing_.push_back(piece.server);
}

void ExpectedGpus::rest() noexcept {
  if (can_rest_) rests_ = true;
}

void ExpectedGpus::start(JobId job, Time end) {
  if (at_ < state_->now()) rest();
  if (rests_) {
    note(state_->slot(job));
  } else if (end > at_) {
    move(state_->slot(job), job, false);
  }
}

void ExpectedGpus::finish(JobId job, Time end) {
  if (at_ < state_->now()) rest();
  if (rests_) {
    note(state_->slot(job));
  } else if (end > at_) {
    move(state_->slot(job), job, true);
  }
}

void ExpectedGpus::resume() {
  if (!rests_) return;
  rests_ = false;
  const Occupancy& free = state_->occupancy();
  if (!is_stale_) {
    // Jobs that were expected to have ended but have not, or that started since.
    for (auto at = running_->last_until(at_); at.is_valid() && !is_stale_;
         running_->step_back(at)) {
      note(state_->slot(running_->at(at).job));
    }
  }
  if (is_stale_) {
    set_ = free;
  } else {
    for (const ServerId server : differing_) set_->copy_server(free, server);
  }
  is_stale_ = false;
  differing_.clear();
  at_ = kNoEnd;
}

Time ExpectedGpus::next_end() const {
  const auto next = running_->first_after(at_);
  return next.is_valid() ? running_->at(next).end : kNever;
}

Time ExpectedGpus::last_end() const {
  const auto last = running_->last_until(at_);
  return last.is_valid() ? running_->at(last).end : kNoEnd;
}

void ExpectedGpus::advance(Time at) {
  for (auto next = running_->first_after(at_); next.is_valid(); running_->step(next)) {
    const RunningIndex::Entry& entry = running_->at(next);
    if (entry.end > at) break;
    move(state_->slot(entry.job), entry.job, true);
  }
  at_ = at;
}

void ExpectedGpus::retreat(Time end) {
  for (auto last = running_->last_until(at_); last.is_valid(); running_->step_back(last)) {
    const RunningIndex::Entry& entry = running_->at(last);
    if (entry.end < end) break;
    move(state_->slot(entry.job), entry.job, false);
  }
  at_ = end - kTick;
}

void HeadReservation::begin(const Setup& setup, bool admits_extra, Time margin) {
  admits_extra_ = admits_extra;
  margin_ = margin;
  placement_ = &setup.placement;
  windows_ = placement_->windows();
  is_slow_ = takes_slow_twins || windows_ != nullptr;
  running_.clear();
  is_untracked_ = false;
  num_idle_ = 0;
  shadow_time_ = kNever;
  extra_gpus_ = 0;
  expected_.begin(setup.state, running_);
  head_ = kNoJob;
  has_gained_ = false;
  allocation_.reset(0);
  reserved_.assign(static_cast<std::size_t>(setup.state.cluster().num_servers()), 0);
}

void HeadReservation::start(const State& state, JobId job) {
  if (is_untracked_) return;
  const Time end = expected_end(state, job);
  running_.insert({end, job, state.jobs().gpus(job)});
  if (!placement_->is_pooled() && !is_slow_) expected_.start(job, end);
}

void HeadReservation::finish(const State& state, JobId job) {
  if (is_untracked_) return;
  const Time end = expected_end(state, job);
  running_.erase(end, job);
  has_gained_ = has_gained_ || end > state.now();
  if (!placement_->is_pooled() && !is_slow_) expected_.finish(job, end);
}

void HeadReservation::untrack(const State& state) {
  rest();
  const auto num_servers = static_cast<std::size_t>(state.cluster().num_servers());
  if (is_untracked_ || is_slow_ || ++num_idle_ <= state.num_running() + num_servers) return;
  is_untracked_ = true;
  running_.clear();
  expected_.forget();
}

void HeadReservation::track(const State& state) {
  num_idle_ = 0;
  if (!is_untracked_) return;
  is_untracked_ = false;
  has_gained_ = true;
  state.for_each_running(
      [&](const Slot& run) { running_.insert({expected_end(state, run.job), run.job, run.gpus}); });
}

void HeadReservation::make(const State& state, JobId head) {
  if (placement_->is_pooled()) {
    make_in_pool(state, head);
  } else {
    make_on_servers(state, head);
  }
}

void HeadReservation::make_in_pool(const State& state, JobId head) {
  const std::int64_t free = state.occupancy().num_free();
  const int gpus = state.jobs().gpus(head);
  std::int64_t before = 0;
  const RunningIndex::Entry* const last = running_.reach(gpus - free, before);
  if (last == nullptr) {  // it waits for withheld GPUs: no reservation possible
    shadow_time_ = kNever;
    extra_gpus_ = free;
    return;
  }
  shadow_time_ = std::max(last->end, state.now() + kTick);
  extra_gpus_ = admits_extra_ ? free + running_.sum_until(shadow_time_) - gpus : -1;
}

void HeadReservation::make_on_servers(const State& state, JobId head) {
  for (const Piece& piece : allocation_.pieces) reserve(state, piece, 0);
  allocation_.reset(0);
  shadow_time_ = kNever;
  if (is_slow_) {
    find_from_now(state, state.request(head));
  } else {
    has_gained_ = has_gained_ || head != head_;
    find_from_last(state, state.request(head));
    head_ = head;
    has_gained_ = false;
  }
  for (const Piece& piece : allocation_.pieces) {
    // A job with demands may lack CPU even if the reserved GPUs stay free.
    reserve(state, piece, state.jobs().has_demands() ? ~GpuMask{0} : piece.mask);
  }
}

/// CPU of a server that is short is short for all its parts.
void HeadReservation::reserve(const State& state, const Piece& piece, GpuMask mask) {
  reserved_[static_cast<std::size_t>(piece.server)] = mask;
  if (!state.jobs().has_demands()) return;
  state.cluster().for_each_part(piece.server, [&](ServerId part) {
    reserved_[static_cast<std::size_t>(part)] = mask;
  });
}

bool HeadReservation::accepts(Time at, const Occupancy& free, const Request& request) {
  if (placement_->widest(free, request.types) < request.room()) return false;
  return windows_ != nullptr ? windows_->place_at(at, free, request, tried_)
                             : placement_->place(free, request, tried_);
}

/// The plain rule: releases running jobs one after the other until the head is accepted. Where
/// maintenance is known ahead what fits at one end need not fit at the next, but may at its end.
void HeadReservation::find_from_now(const State& state, const Request& request) {
  Occupancy free = state.occupancy();
  const Time soonest = state.now() + kTick;
  auto next = running_.first_after(Time{-1});
  for (Time at = state.now();;) {
    const Time end = next.is_valid() ? std::max(running_.at(next).end, soonest) : kNever;
    at = windows_ != nullptr ? std::min(end, windows_->next_end(at)) : end;
    if (at == kNever) return;
    for (; next.is_valid() && std::max(running_.at(next).end, soonest) <= at; running_.step(next)) {
      const JobId job = running_.at(next).job;
      const Slot& run = state.slot(job);
      free.release(run.gpus, run.pieces, state.jobs().demand(job));
    }
    if (windows_ != nullptr) windows_->reopen(at, free);
    if (!accepts(at, free, request)) continue;
    shadow_time_ = at;
    allocation_ = tried_;
    return;
  }
}

/// A refusal holds until GPUs are released. So the first instant at which the head is accepted is
/// unique in the whole line of expected ends, and the search for the next one starts at the last:
/// it is not earlier unless a job has ended early.
void HeadReservation::find_from_last(const State& state, const Request& request) {
  const Time soonest = state.now() + kTick;
  expected_.resume();
  if (expected_.at() < soonest) expected_.advance(soonest);
  bool is_found = expected_.last_end() != ExpectedGpus::kNoEnd &&
                  accepts(expected_.at(), expected_.set(), request);
  const bool may_be_earlier = is_found && has_gained_;
  while (!is_found) {
    const Time end = expected_.next_end();
    if (end == kNever) return;
    expected_.advance(end);
    is_found = accepts(expected_.at(), expected_.set(), request);
  }
  std::swap(allocation_, tried_);
  for (Time end = expected_.last_end(); may_be_earlier && end > soonest;
       end = expected_.last_end()) {
    expected_.retreat(end);
    if (expected_.last_end() != ExpectedGpus::kNoEnd &&
        accepts(expected_.at(), expected_.set(), request)) {
      std::swap(allocation_, tried_);
      continue;
    }
    expected_.advance(end);
    break;
  }
  shadow_time_ = std::max(expected_.last_end(), soonest);
  // A job that starts now may end between the two, and would be mistaken for the awaited one.
  expected_.retreat_to(shadow_time_);
}

std::int64_t HeadReservation::spare(const State& state) const noexcept {
  if (!admits_extra_) return -1;
  if (placement_->is_pooled()) return extra_gpus_;
  const Occupancy& free = state.occupancy();
  std::int64_t sum = free.num_free();
  for (const Piece& piece : allocation_.pieces) {
    const GpuMask reserved = reserved_[static_cast<std::size_t>(piece.server)];
    const GpuMask both = free.free_mask(piece.server) & reserved;
    if (both != 0) sum -= count_bits(both);  // reserved GPUs are mostly in use
  }
  return sum;
}

bool HeadReservation::is_in_the_way(const Allocation& allocation) const {
  return std::any_of(allocation.pieces.begin(), allocation.pieces.end(), [&](const Piece& piece) {
    return (reserved_[static_cast<std::size_t>(piece.server)] & piece.mask) != 0;
  });
}

bool HeadReservation::admits(const State& state, JobId job, const Allocation& allocation) {
  if (state.jobs().estimate(job) <= longest(state)) return true;
  if (!admits_extra_) return false;
  if (!placement_->is_pooled()) return !is_in_the_way(allocation);
  if (allocation.gpus > extra_gpus_) return false;
  extra_gpus_ -= allocation.gpus;
  return true;
}

}  // namespace gpusched
