#include "seams/actions.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <string>

#include "base/check.hpp"

namespace gpusched {

void Actions::fail(JobId job, const char* what) const {
  throw InvariantError("at " + std::to_string(state_.now().count()) + " us, job " +
                       std::to_string(job) + ": " + what);
}

void Actions::check_width(JobId job, const Allocation& allocation) const {
  const int gpus = allocation.gpus;
  if (gpus == state_.jobs().gpus(job)) return;
  if (gpus >= state_.min_gpus(job) && gpus <= state_.max_gpus(job)) return;
  if (!state_.speed().is_elastic()) fail(job, "the allocation is not the whole gang");
  fail(job, ("a width of " + std::to_string(gpus) + " GPUs is outside its limits").c_str());
}

void Actions::check_piece(JobId job, const Piece& piece) const {
  const Occupancy& free = state_.occupancy();
  const Demand* demand = state_.jobs().demand(job);
  if (piece.mask == 0 && state_.jobs().gpus(job) > 0) {
    fail(job, "a piece of the allocation has no GPU");
  }
  if (demand != nullptr && demand->is_share()) {
    const bool exists = static_cast<int>(std::bit_width(piece.mask)) <= free.cluster().gpus(piece.server);
    if (!exists || !free.is_free({&piece, 1}, *demand)) fail(job, "its share is not free");
    return;
  }
  if ((piece.mask & ~free.free_mask(piece.server)) != 0) fail(job, "a GPU is not free");
  if (demand != nullptr && !free.has_room(piece.server, *demand, std::max(1, piece.gpus))) {
    fail(job, "the server lacks CPU or memory");
  }
}

void Actions::check_gang(JobId job, const Allocation& allocation) const {
  const Occupancy& free = state_.occupancy();
  check_width(job, allocation);
  if (free.is_pooled()) {
    if (!allocation.pieces.empty()) fail(job, "a pool has no servers to name");
    if (free.num_free() < allocation.gpus) fail(job, "more GPUs than are free");
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
    check_piece(job, piece);
    if ((types >> free.cluster().type(piece.server) & 1) == 0) {
      fail(job, "the GPU type is not allowed");
    }
    sum += piece.gpus;
  }
  if (sum != allocation.gpus) fail(job, "the allocation is not the whole gang");
  if (!is_sorted) fail(job, "the servers of an allocation must be named once each, in order");
  if (!state_.has_progress() || !state_.speed().is_elastic()) return;
  const double seconds = state_.speed().iteration_s({job, allocation.pieces, allocation.ranks, {}});
  if (!(seconds < std::numeric_limits<double>::infinity())) {
    fail(job, "the speed knows no way to run it there");
  }
}

[[gnu::flatten]] void Actions::start(JobId job, const Allocation& allocation) {
  if (!state_.is_waiting(job)) fail(job, "only a waiting job can start");
  check_gang(job, allocation);
  const JobRecord& record = state_.records_[job];
  if (record.start != kNever && record.idle_since == state_.now_) {
    fail(job, "stopped in this decision and cannot start in it");
  }
  if (state_.free_slots_.empty()) {
    state_.free_slots_.push_back(static_cast<std::uint32_t>(state_.slots_.size()));
    state_.slots_.emplace_back();
  }
  const std::uint32_t id = state_.free_slots_.back();
  state_.free_slots_.pop_back();
  ++state_.num_running_;
  begin_run(id, job, allocation);
}

void Actions::begin_run(std::uint32_t id, JobId job, const Allocation& allocation) {
  JobRecord& record = state_.records_[job];
  const Time now = state_.now_;
  record.slot = id;
  Slot& slot = state_.slots_[id];
  slot.cost = Time{0};
  if (record.start == kNever) {
    record.start = now;
  } else if (!rule_.on_work) {
    slot.cost = state_.jobs_.restart_cost(job) + rule_.extra(allocation.gpus);
  }
  // Now < 2^62, a cost < 2^55, the service and the work added to it < 2^61 + 2^54: no sum overflows.
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
  acquire(slot);
  ++slot.version;
  if (progress_.is_active()) {
    progress_.start(id, allocation.ranks);  // the finish is right once the decision has ended
  } else {
    finishes_.push({slot.finish, id, slot.version});
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
  release(slot);
  suspended_.push_back(job);
}

bool Actions::restore(JobId job) {
  Slot& slot = running_slot(job, "be restored");
  if (!slot.is_suspended) fail(job, "only a suspended job can be restored");
  const Demand* demand = state_.jobs_.demand(job);
  const Occupancy& free = state_.occupancy_;
  const bool fits = free.is_pooled()      ? free.num_free() >= slot.gpus
                    : demand != nullptr ? free.is_free(slot.pieces, *demand)
                                        : free.is_free(slot.pieces);
  if (!fits) return false;
  acquire(slot);
  slot.is_suspended = false;
  return true;
}

void Actions::preempt(JobId job) {
  Slot& slot = running_slot(job, "be preempted");
  if (slot.start == state_.now_) fail(job, "started in this decision and cannot stop in it");
  if (!slot.is_suspended) release(slot);
  slot.is_suspended = false;
  end_run(slot);
  JobRecord& record = state_.records_[job];
  ++record.preemptions;
  record.idle_since = state_.now_;
  slot.job = kNoJob;
  state_.free_slots_.push_back(record.slot);
  --state_.num_running_;
}

/// Service done in the run that ends now; progress has been settled.
Time Actions::service_of_run(const Slot& slot, std::uint32_t id) const noexcept {
  if (!progress_.is_active()) return std::max(Time{0}, state_.now_ - slot.start - slot.cost);
  const double done = state_.progress_[slot.job].done - state_.paces_[id].first_done;
  return Time{static_cast<std::int64_t>(done)};
}

/// The slot stays the job's. Its finish is void.
void Actions::end_run(Slot& slot) {
  const Time now = state_.now_;
  JobRecord& record = state_.records_[slot.job];
  if (progress_.is_active()) progress_.stop(record.slot);
  record.held -= slot.finish - now;
  record.paid -= std::max(Time{0}, slot.start + slot.cost - now);
  Time added{0};
  if (rule_.on_work) {
    added = state_.jobs_.restart_cost(slot.job) + rule_.extra(slot.gpus);
    record.redo += added;
    // With this a finish stays below 2^62 + 2^61 + 2^56, and the type holds it.
    if (record.redo.count() > kMaxTicks / 2) {
      fail_input("at " + std::to_string(now.count()) + " us: restart=work: the work added to job " +
                 std::to_string(slot.job) + " passes 2^61 microseconds");
    }
  }
  if (turns_.is_timer) {
    turns_.add(slot.job, slot.pieces.size(), service_of_run(slot, record.slot),
               std::min(slot.cost, now - slot.start) + added);
  } else {
    turns_.added += added.count();
  }
  record.phase = Phase::waiting;
  record.finish = kNever;
  log_.append(slot.job, slot.start, now, slot.pieces);
  ++num_stale_;
}

void Actions::resize(JobId job, const Allocation& allocation) {
  Slot& slot = running_slot(job, "be resized");
  if (slot.start == state_.now_) fail(job, "started in this decision and cannot change in it");
  if (allocation.gpus != state_.jobs().gpus(job) && !state_.speed().is_elastic()) {
    fail_input("resize: job " + std::to_string(job) +
               " runs under a speed that knows its run time for its own width alone");
  }
  if (allocation.gpus == slot.gpus && allocation.pieces == slot.pieces) {
    fail(job, "a resize must change its GPUs");
  }
  const bool is_suspended = slot.is_suspended;
  if (!is_suspended) release(slot);
  try {
    check_gang(job, allocation);
  } catch (...) {
    if (!is_suspended) acquire(slot);
    throw;
  }
  end_run(slot);
  begin_run(state_.records_[job].slot, job, allocation);
  if (num_resizes_.empty()) num_resizes_.resize(state_.jobs().num_jobs());
  ++num_resizes_[job];
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
