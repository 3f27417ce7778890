#include "engine/executor.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {

void Executor::fail(JobId job, const char* what) const {
  throw InvariantError("at " + std::to_string(state_->now().count()) + " us, job " +
                       std::to_string(job) + ": " + what);
}

void Executor::write(EventKind kind, JobId job) {
  if (events_ != nullptr) events_->push_back({kind, job});
  if (keeps_events_) kept_events_.push_back({kind, job});
}

void Executor::check_width(JobId job, const Allocation& allocation) const {
  const int gpus = allocation.gpus;
  if (gpus == state_->jobs().gpus(job)) return;
  if (gpus >= state_->min_gpus(job) && gpus <= state_->max_gpus(job)) return;
  if (!state_->speed().is_elastic()) fail(job, "the allocation must have all GPUs of the job");
  fail(job, ("a width of " + std::to_string(gpus) + " GPUs is outside its limits").c_str());
}

void Executor::check_piece(JobId job, const Piece& piece) const {
  const Occupancy& free = state_->occupancy();
  const Demand* demand = state_->jobs().demand(job);
  if (piece.mask == 0 && state_->jobs().gpus(job) > 0) {
    fail(job, "a piece of the allocation has no GPU");
  }
  if (demand != nullptr && demand->is_share()) {
    const bool exists =
        static_cast<int>(std::bit_width(piece.mask)) <= free.cluster().gpus(piece.server);
    if (!exists || !free.is_free({&piece, 1}, *demand)) fail(job, "the GPU share is not free");
    return;
  }
  if ((piece.mask & ~free.free_mask(piece.server)) != 0) fail(job, "a GPU is not free");
  if (demand != nullptr && !free.has_room(piece.server, *demand, std::max(1, piece.gpus))) {
    fail(job, "the server lacks CPU or memory");
  }
}

void Executor::check_gang(JobId job, const Allocation& allocation) const {
  const Occupancy& free = state_->occupancy();
  check_width(job, allocation);
  if (free.is_pooled()) {
    if (!allocation.pieces.empty()) fail(job, "an allocation in a pool must not name servers");
    if (free.num_free() < allocation.gpus) fail(job, "the allocation has more GPUs than are free");
    return;
  }
  int sum = 0;
  ServerId previous = -1;
  bool is_sorted = true;
  const TypeMask types = state_->jobs().types(job);
  const int per_node = state_->jobs().gpus_per_node(job);
  const Cluster& cluster = free.cluster();
  for (const Piece& piece : allocation.pieces) {
    if (piece.server < 0 || piece.server >= free.cluster().num_servers()) {
      fail(job, "unknown server");
    }
    is_sorted = is_sorted && piece.server > previous;
    previous = piece.server;
    check_piece(job, piece);
    if ((types >> free.cluster().type(piece.server) & 1) == 0) {
      fail(job, "the GPU type is not allowed");
    }
    if (per_node > 0 && piece.gpus != per_node) {
      fail(job, "each server must have gpus_per_node GPUs of the job");
    }
    if (cluster.has_parts() &&
        cluster.type(piece.server) != cluster.type(allocation.pieces.front().server)) {
      fail(job, "all its GPUs must be of one type");
    }
    sum += piece.gpus;
  }
  if (sum != allocation.gpus) fail(job, "the allocation must have all GPUs of the job");
  if (!is_sorted) fail(job, "the servers of an allocation must be named once each, in order");
  if (!state_->has_progress() || !state_->speed().is_elastic()) return;
  const double seconds =
      state_->speed().iteration_s({job, allocation.pieces, allocation.ranks, {}});
  if (!(seconds < kInfinity)) {
    fail(job, "the speed cannot run it on this allocation");
  }
}

[[gnu::flatten]] void Executor::start(JobId job, const Allocation& allocation) {
  if (!state_->is_waiting(job)) fail(job, "only a waiting job can start");
  check_gang(job, allocation);
  if (state_->has_just_stopped(job) && !has_changed_policy_ && !was_hit(job)) {
    fail(job, "stopped in this decision, so it cannot start in it");
  }
  begin_run(state_->take_slot(), job, allocation);
  note(EventKind::start, job);
}

void Executor::hold(std::uint32_t id, JobId job, Time start, Time end,
                    const Allocation& allocation) {
  Slot& slot = state_->slot_at(id);
  slot.start = start;
  slot.job = job;
  slot.gpus = allocation.gpus;
  slot.is_suspended = false;
  slot.pieces.assign(allocation.pieces.begin(), allocation.pieces.end());
  JobRecord& record = state_->record_of(job);
  record.slot = id;
  record.phase = Phase::running;
  record.finish = end;
  record.num_servers = static_cast<std::int32_t>(allocation.pieces.size());
  state_->acquire(slot);
}

void Executor::begin_run(std::uint32_t id, JobId job, const Allocation& allocation) {
  JobRecord& record = state_->record_of(job);
  const Time now = state_->now();
  Slot& slot = state_->slot_at(id);
  slot.cost = Time{0};
  slot.is_whole = !record.has_history;
  // Now < 2^62, a cost < 2^55, the service and the work added to it < 2^61 + 2^54: no sum overflows.
  const Time work = state_->true_remaining(job);
  if (record.start == kNever) {
    record.start = now;
  } else if (!rule_.on_work) {
    slot.cost = state_->jobs().restart_cost(job) + rule_.extra(allocation.gpus);
  }
  slot.work_end = now + slot.cost + work;
  slot.kill_at = kNever;
  Time end = slot.work_end;
  if (const Time limit = state_->jobs().time_limit(job); limit != kNever) [[unlikely]] {
    slot.kill_at = now + limit;
    end = slot.end();
  }
  if (record.has_history) {
    JobHistory& past = state_->history_of(job);
    past.held += end - now;
    past.paid += slot.cost;
  }
  hold(id, job, now, end, allocation);
  if (progress_->is_active()) {
    progress_->start(id, allocation.ranks);  // the finish is right once the decision has ended
  } else {
    finishes_->move(id, end);
  }
}

/// The work added by this many preemptions of the job.
Time Executor::redone(JobId job, int gpus, std::int32_t preemptions) const {
  const Time each = state_->jobs().restart_cost(job) + rule_.extra(gpus);
  if (!rule_.on_work || preemptions == 0 || each == Time{0}) return Time{0};
  if (each.count() > kMaxTicks / 2 / preemptions) {
    fail_input("restart=work: the work added to job " + std::to_string(job) + " at " +
               std::to_string(preemptions) + " preemptions passes 2^61 microseconds");
  }
  return each * preemptions;
}

void Executor::take_up(JobId job, Time attained, Time added) {
  if (added < Time{0}) {
    const int gpus = state_->jobs().gpus(job);
    added = rule_.overrun + redone(job, gpus, state_->record(job).preemptions);
  }
  // A job that has had all its known service is about to end.
  added = std::max(added, attained + kTick - state_->jobs().service(job));
  if (added > Time{0}) state_->history_of(job).redo = added;
}

void Executor::go_on(JobId job, Time start, Time cost, Time attained,
                     const Allocation& allocation) {
  check_gang(job, allocation);
  if (start == state_->now()) found_.push_back(job);
  JobRecord& record = state_->record_of(job);
  JobHistory& past = state_->history_of(job);
  const Time length = state_->jobs().service(job) + past.redo;
  const Time done = std::max(Time{0}, state_->now() - start - cost);
  const Time before = attained - std::min(attained, done);
  const Time work = length - before;
  const Time paid_at = std::max(state_->now(), start + cost);
  const std::uint32_t id = state_->take_slot();
  Slot& slot = state_->slot_at(id);
  slot.cost = cost;
  slot.is_whole = false;
  const Time limit = state_->jobs().time_limit(job);
  slot.kill_at = limit == kNever ? kNever : std::max(start + limit, state_->now() + kTick);
  record.start = start;
  past.held = before + cost + work;
  past.paid = cost;
  slot.work_end = paid_at + (length - attained);
  hold(id, job, start, slot.end(), allocation);
  past.held -= slot.work_end - slot.end();
  finishes_->set(id, slot.end());
}

Slot& Executor::running_slot(JobId job, const char* verb) {
  if (job >= state_->num_arrived() || !state_->is_running(job)) {
    fail(job, (std::string("only a running job can ") + verb).c_str());
  }
  return state_->slot_at(state_->record_of(job).slot);
}

/// A run that a decision begins is not ended by it; one that it finds may have begun as late.
void Executor::check_stop(const Slot& slot, const char* verb) const {
  if (slot.start != state_->now()) return;
  if (std::find(found_.begin(), found_.end(), slot.job) != found_.end()) return;
  fail(slot.job,
       (std::string("started in this decision, so it cannot ") + verb + " in it").c_str());
}

void Executor::suspend(JobId job) {
  Slot& slot = running_slot(job, "be suspended");
  if (slot.is_suspended) fail(job, "is already suspended");
  check_stop(slot, "stop");
  slot.is_suspended = true;
  state_->release(slot);
  suspended_.push_back(job);
}

bool Executor::restore(JobId job) {
  Slot& slot = running_slot(job, "be restored");
  if (!slot.is_suspended) fail(job, "only a suspended job can be restored");
  const Demand* demand = state_->jobs().demand(job);
  const Occupancy& free = state_->occupancy();
  const bool fits = free.is_pooled()    ? free.num_free() >= slot.gpus
                    : free.may_close()  ? free.can_return(slot.pieces, demand)
                    : demand != nullptr ? free.is_free(slot.pieces, *demand)
                                        : free.is_free(slot.pieces);
  if (!fits) return false;
  state_->acquire(slot);
  slot.is_suspended = false;
  return true;
}

void Executor::preempt(JobId job) {
  Slot& slot = running_slot(job, "be preempted");
  check_stop(slot, "stop");
  if (!slot.is_suspended) state_->release(slot);
  slot.is_suspended = false;
  end_run(slot);
  JobRecord& record = state_->record_of(job);
  ++record.preemptions;
  state_->history_of(job).idle_since = state_->now();
  state_->give_back_slot(record.slot);
  left_slots_.push_back(record.slot);
  finishes_->announce_move();
  note(EventKind::preempt, job);
}

/// Service done in the run that ends now; progress has been settled.
Time Executor::service_of_run(const Slot& slot, std::uint32_t id) const noexcept {
  if (!progress_->is_active()) return std::max(Time{0}, state_->now() - slot.start - slot.cost);
  const double done = state_->progress_of(slot.job).done - state_->pace_at(id).first_done;
  return Time{static_cast<std::int64_t>(done)};
}

/// Times with GPUs were noted at the start as if the job ran to its end.
void Executor::undo_expected_end(const Slot& slot) noexcept {
  JobHistory& past = state_->history_of(slot.job);
  past.held -= slot.end() - state_->now();
  past.paid -= std::max(Time{0}, slot.paid_at() - state_->now());
  JobRecord& record = state_->record_of(slot.job);
  record.phase = Phase::waiting;
  record.finish = kNever;
}

/// What a run came to that ends before its work is done; progress has been settled. `is_lost`: only
/// what the last checkpoint holds is kept. Returns whether that is anything.
bool Executor::settle_losses(const Slot& slot, std::uint32_t id, Time added, bool is_lost) {
  JobLosses& own = losses_[slot.job];
  const Checkpoints checkpoints = state_->jobs().checkpoints(slot.job);
  const Time elapsed = std::max(Time{0}, state_->now() - slot.start - slot.cost);
  if (progress_->is_active()) {
    JobProgress& progress = state_->progress_of(slot.job);
    const double first = state_->pace_at(id).first_done;
    const double did = progress.done - first;
    if (!is_lost || did <= 0.0) return false;
    double saved = 0.0;
    if (const auto every = static_cast<double>(checkpoints.every.count()); every > 0.0) {
      const double most = std::ceil((state_->work(slot.job) - first) / every) - 1.0;
      saved = std::min(std::floor(did / every), most) * every;
    }
    progress.done = first + saved;
    const double lost = static_cast<double>(elapsed.count()) * (did - saved) / did;
    own.lost += Time{std::llrint(lost)};
    return saved > 0.0;
  }
  const Time length = slot.work_end - slot.start - slot.cost;
  const Time work = checkpoints.work_in(length);
  const Checkpoints::Progress past = checkpoints.after(elapsed, work);
  const Time kept = is_lost ? past.saved : past.done;
  own.written += past.written;
  own.lost += past.done - kept;
  // What is left, writes included, is added to what the history says of the job.
  const Time left = checkpoints.length_of(work - kept + added) - added;
  if (left != length - elapsed) state_->history_of(slot.job).redo += left - (length - elapsed);
  return past.saved > Time{0};
}

/// The slot stays the job's. Its finish is void.
void Executor::end_run(Slot& slot, bool is_lost) {
  const Time now = state_->now();
  JobRecord& record = state_->record_of(slot.job);
  if (progress_->is_active()) progress_->stop(record.slot);
  undo_expected_end(slot);
  Time added{0};
  if (rule_.on_work) {
    added = redone(slot.job, slot.gpus, 1);
    JobHistory& past = state_->history_of(slot.job);
    past.redo += added;
    // With this a finish stays below 2^62 + 2^61 + 2^56, and the type holds it.
    if (past.redo.count() > kMaxTicks / 2) {
      fail_input("at " + std::to_string(now.count()) + " us: restart=work: the work added to job " +
                 std::to_string(slot.job) + " passes 2^61 microseconds");
    }
  }
  if (!losses_.empty()) [[unlikely]] {
    const bool is_useful = settle_losses(slot, record.slot, added, is_lost);
    std::int32_t& useless = losses_[slot.job].num_useless;
    useless = is_lost && !is_useful ? useless + 1 : 0;
  }
  if (turns_.is_timer) {
    turns_.add(slot.job, slot.pieces.size(), service_of_run(slot, record.slot),
               std::min(slot.cost, now - slot.start) + added);
  } else {
    turns_.added += added.count();
  }
  log_->append(slot.job, slot.start, now, slot.pieces);
}

void Executor::resize(JobId job, const Allocation& allocation) {
  Slot& slot = running_slot(job, "be resized");
  check_stop(slot, "change");
  if (allocation.gpus != state_->jobs().gpus(job) && !state_->speed().is_elastic()) {
    fail_input("resize: job " + std::to_string(job) +
               " cannot change its width: the speed is not elastic");
  }
  if (allocation.gpus == slot.gpus && allocation.pieces == slot.pieces) {
    fail(job, "a resize must change its GPUs");
  }
  const bool is_suspended = slot.is_suspended;
  if (!is_suspended) state_->release(slot);
  try {
    check_gang(job, allocation);
  } catch (...) {
    if (!is_suspended) state_->acquire(slot);
    throw;
  }
  end_run(slot);
  begin_run(state_->record_of(job).slot, job, allocation);
  if (num_resizes_.empty()) num_resizes_.resize(state_->jobs().num_jobs());
  ++num_resizes_[job];
  note(EventKind::resize, job);
}

void Executor::wake(Time at) {
  if (at <= state_->now()) {
    throw InvariantError("at " + std::to_string(state_->now().count()) +
                         " us: a wake-up must be in the future");
  }
  wake_ = std::min(wake_, at);
}

void Executor::preempt_suspended() {
  for (const JobId job : suspended_) {
    if (!state_->is_running(job)) continue;
    const Slot& slot = state_->slot(job);
    if (slot.job == job && slot.is_suspended) preempt(job);
  }
  suspended_.clear();
}

/// Not at the preemption: where another job begins in the slot, its finish takes the old one's place.
void Executor::drop_finishes() {
  for (const std::uint32_t id : left_slots_) {
    if (!state_->slot_at(id).is_busy()) finishes_->move(id, kNever);
  }
  left_slots_.clear();
}

void Executor::move_finishes() {
  for (const std::uint32_t id : progress_->update()) {
    Slot& slot = state_->slot_at(id);
    JobRecord& record = state_->record_of(slot.job);
    const Time before = slot.end();
    slot.work_end = progress_->finish_of(id);
    if (record.has_history) state_->history_of(slot.job).held += slot.end() - before;
    record.finish = slot.end();
    finishes_->move(id, slot.end());
  }
}

void Executor::finish(std::uint32_t id) {
  const Slot& slot = state_->slot_at(id);
  if (progress_->is_active()) progress_->finish(id);
  state_->release(slot);
  if (slot.is_whole) {
    log_->append_whole(slot.job, slot.pieces);
  } else {
    log_->append(slot.job, slot.start, slot.end(), slot.pieces);
    if (state_->jobs().has_writes()) {  // jobs that write have a history
      const Checkpoints checkpoints = state_->jobs().checkpoints(slot.job);
      const Time work = checkpoints.work_in(slot.work_end - slot.paid_at());
      losses_[slot.job].written += checkpoints.write * checkpoints.writes_in(work);
    }
  }
  state_->end(slot.job, Phase::finished);
  note(EventKind::finish, slot.job);
  state_->give_back_slot(id);
}

void Executor::stop(std::uint32_t id, Phase phase) {
  const bool is_killed = phase == Phase::killed;
  const JobId job = state_->slot_at(id).job;
  state_->release(state_->slot_at(id));
  cut_off(id, is_killed);
  finishes_->drop(id);
  state_->end(job, phase);
  state_->give_back_slot(id);
  note(is_killed ? EventKind::kill : EventKind::cancel, job);
}

void Executor::interrupt(std::uint32_t id, ServerId server, bool is_failure) {
  constexpr std::int32_t kMostUseless = 1 << 20;
  Slot& slot = state_->slot_at(id);
  const JobId job = slot.job;
  turns_.is_timer = false;
  state_->release(slot);
  end_run(slot, true);
  finishes_->drop(id);
  state_->history_of(job).idle_since = state_->now();
  state_->requeue(job);
  hit_.push_back(job);
  JobLosses& own = losses_[job];
  if (is_failure) ++own.failures;
  const int most = state_->jobs().max_requeues(job);
  const bool is_over = is_failure && most >= 0 && own.failures > most;
  if (is_over) state_->end(job, Phase::failed);
  state_->give_back_slot(id);
  note(is_over ? EventKind::fail : EventKind::interrupt, job);
  if (own.num_useless < kMostUseless) return;
  fail_input("at " + std::to_string(state_->now().count()) + " us: outages, the last of server " +
             std::to_string(server) + ", have ended 2^20 runs of job " + std::to_string(job) +
             " in a row before it saved any work; shorten checkpoint_every_s, or set max_requeues");
}

void Executor::hand_over(const RestartRule& rule) {
  turns_.is_timer = false;
  for (const Slot& slot : state_->all_slots()) {
    if (slot.is_busy()) preempt(slot.job);
  }
  rule_ = rule;
  has_changed_policy_ = true;
}

void Executor::cut_off(std::uint32_t id, bool is_lost) {
  Slot& slot = state_->slot_at(id);
  if (progress_->is_active()) progress_->stop(id);
  undo_expected_end(slot);
  if (!losses_.empty()) settle_losses(slot, id, Time{0}, is_lost);
  log_->append(slot.job, slot.start, state_->now(), slot.pieces);
  slot.job = kNoJob;
}

}  // namespace gpusched
