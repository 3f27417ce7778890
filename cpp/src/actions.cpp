#include "gpusched/actions.hpp"

#include <algorithm>
#include <string>

#include "gpusched/check.hpp"

namespace gpusched {

void Actions::fail(JobId job, const char* what) const {
  throw InvariantError("at " + std::to_string(state_.now().count()) + " us, job " +
                       std::to_string(job) + ": " + what);
}

void Actions::check_gang(JobId job, const Allocation& allocation) const {
  const int gpus = state_.jobs().gpus(job);
  const Occupancy& free = state_.occupancy();
  if (allocation.gpus != gpus) fail(job, "the allocation is not the whole gang");
  if (free.is_pooled()) {
    if (!allocation.pieces.empty()) fail(job, "a pool has no servers to name");
    if (free.num_free() < gpus) fail(job, "more GPUs than are free");
    return;
  }
  int sum = 0;
  ServerId previous = -1;
  bool is_sorted = true;
  const TypeMask types = state_.jobs().types(job);
  for (const Piece& piece : allocation.pieces) {
    if (piece.server < 0 || piece.server >= free.cluster().num_servers()) {
      fail(job, "there is no such server");
    }
    is_sorted = is_sorted && piece.server > previous;
    previous = piece.server;
    if (piece.mask == 0) fail(job, "a piece of the allocation has no GPU");
    if ((piece.mask & ~free.free_mask(piece.server)) != 0) fail(job, "a GPU is not free");
    if ((types >> free.cluster().type(piece.server) & 1) == 0) {
      fail(job, "the GPU type is not allowed");
    }
    sum += piece.gpus;
  }
  if (sum != gpus) fail(job, "the allocation is not the whole gang");
  if (!is_sorted) fail(job, "the servers of an allocation must be named once each, in order");
}

void Actions::start(JobId job, const Allocation& allocation) {
  if (!state_.is_waiting(job)) fail(job, "only a waiting job can start");
  check_gang(job, allocation);
  JobRecord& record = state_.records_[job];
  const Time now = state_.now_;
  if (record.start != kNever && record.idle_since == now) {
    fail(job, "stopped in this decision and cannot start in it");
  }

  if (state_.free_slots_.empty()) {
    state_.free_slots_.push_back(static_cast<std::uint32_t>(state_.slots_.size()));
    state_.slots_.emplace_back();
  }
  record.slot = state_.free_slots_.back();
  state_.free_slots_.pop_back();
  Slot& slot = state_.slots_[record.slot];
  slot.cost = Time{0};
  if (record.start == kNever) {
    record.start = now;
  } else if (!rule_.on_work) {
    slot.cost = state_.jobs_.restart_cost(job) + rule_.extra(allocation.gpus);
  }
  const Time work = state_.true_remaining(job);
  slot.start = now;
  slot.finish = now + slot.cost + work;
  slot.job = job;
  slot.gpus = allocation.gpus;
  slot.is_suspended = false;
  slot.pieces.assign(allocation.pieces.begin(), allocation.pieces.end());

  record.phase = Phase::running;
  record.finish = slot.finish;
  record.held += slot.cost + work;
  record.paid += slot.cost;
  record.num_servers = static_cast<std::int32_t>(allocation.pieces.size());
  state_.occupancy_.acquire(slot.gpus, slot.pieces);
  ++state_.num_running_;
  ++slot.version;
  if (progress_.is_active()) {
    progress_.start(record.slot, allocation.ranks);  // the finish is right once the decision has ended
  } else {
    finishes_.push({slot.finish, record.slot, slot.version});
  }
}

Slot& Actions::running_slot(JobId job, const char* verb) {
  if (job >= state_.num_arrived() || !state_.is_running(job)) {
    fail(job, (std::string("only a running job can ") + verb).c_str());
  }
  return state_.slots_[state_.records_[job].slot];
}

void Actions::suspend(JobId job) {
  Slot& slot = running_slot(job, "be suspended");
  if (slot.is_suspended) fail(job, "is suspended already");
  if (slot.start == state_.now_) fail(job, "started in this decision and cannot stop in it");
  slot.is_suspended = true;
  state_.occupancy_.release(slot.gpus, slot.pieces);
  suspended_.push_back(job);
}

bool Actions::restore(JobId job) {
  Slot& slot = running_slot(job, "be restored");
  if (!slot.is_suspended) fail(job, "only a suspended job can be restored");
  const bool fits = state_.occupancy_.is_pooled() ? state_.occupancy_.num_free() >= slot.gpus
                                                  : state_.occupancy_.is_free(slot.pieces);
  if (!fits) return false;
  state_.occupancy_.acquire(slot.gpus, slot.pieces);
  slot.is_suspended = false;
  return true;
}

void Actions::preempt(JobId job) {
  Slot& slot = running_slot(job, "be preempted");
  if (slot.start == state_.now_) fail(job, "started in this decision and cannot stop in it");
  if (!slot.is_suspended) state_.occupancy_.release(slot.gpus, slot.pieces);
  slot.is_suspended = false;
  close(slot);
}

void Actions::close(Slot& slot) {
  const Time now = state_.now_;
  JobRecord& record = state_.records_[slot.job];
  if (progress_.is_active()) progress_.stop(record.slot);
  record.held -= slot.finish - now;
  record.paid -= std::max(Time{0}, slot.start + slot.cost - now);
  ++record.preemptions;
  if (rule_.on_work) {
    record.redo += state_.jobs_.restart_cost(slot.job) + rule_.extra(slot.gpus);
    if (record.redo.count() > kMaxTicks / 2) {
      fail_input("restart=work: the work added to job " + std::to_string(slot.job) +
                 " passes 2^61 microseconds");
    }
  }
  record.phase = Phase::waiting;
  record.finish = kNever;
  record.idle_since = now;
  log_.append(slot.job, slot.start, now, slot.pieces);
  slot.job = kNoJob;
  state_.free_slots_.push_back(record.slot);
  --state_.num_running_;
  ++num_stale_;
}

void Actions::resize(JobId job, const Allocation& /*allocation*/) {
  (void)running_slot(job, "be resized");
  fail_input("resize: job " + std::to_string(job) +
             " runs under a speed that knows its run time for its own width alone");
}

void Actions::wake(Time at) {
  if (at <= state_.now()) {
    throw InvariantError("at " + std::to_string(state_.now().count()) +
                         " us: a wake-up must lie ahead");
  }
  wake_ = std::min(wake_, at);
}

void Actions::finish_decision() {
  for (const JobId job : suspended_) {
    if (!state_.is_running(job)) continue;
    Slot& slot = state_.slots_[state_.records_[job].slot];
    if (slot.job == job && slot.is_suspended) preempt(job);
  }
  suspended_.clear();
  forget_stale();
}

void Actions::move_finishes() {
  for (const std::uint32_t id : progress_.update()) {
    Slot& slot = state_.slots_[id];
    JobRecord& record = state_.records_[slot.job];
    const Time finish = progress_.finish_of(id);
    const bool is_started = slot.start == state_.now_;  // and has no event yet
    if (!is_started) {
      ++slot.version;
      ++num_stale_;
    }
    record.held += finish - slot.finish;
    record.finish = slot.finish = finish;
    finishes_.push({finish, id, slot.version});
  }
  forget_stale();
}

void Actions::forget_stale() {
  if (num_stale_ <= 64 || 2 * num_stale_ <= finishes_.size()) return;
  finishes_.remove_if([&](const FinishEvent& event) { return is_stale(event); });
  num_stale_ = 0;
}

}  // namespace gpusched
