#include "listing/expected_gpus.hpp"

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
    // Who was counted as ended and has not, or started since.
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

}  // namespace gpusched
