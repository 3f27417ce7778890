#include "engine/simulation.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace gpusched {

Simulation::Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
                       Placement& placement, const Pacing& pacing, std::uint64_t seed,
                       RunControl& control)
    : state_(jobs, cluster, pacing.speed, placement.is_pooled(), placement.needs_shapes()),
      progress_(state_, pacing.speed, pacing.contention, pacing.verify),
      scheduler_(scheduler),
      control_(control),
      actions_(state_, progress_, scheduler.restart_rule()) {
  if (placement.is_pooled() && progress_.is_active()) {
    fail_input("placement: the speed depends on servers, and a pool has none");
  }
  if (jobs.has_demands()) check_demands(placement);
  const JobClasses& classes = state_.classes_;
  placement.begin({seed, state_});
  // A class that an empty cluster cannot hold never fits: its jobs are rejected on arrival.
  Allocation scratch;
  refused_classes_.resize(classes.num_classes());
  for (ClassId id = 0; id < classes.num_classes(); ++id) {
    control.check();  // there may be as many classes as jobs
    if (placement.is_pooled()) {
      if (classes.types(id) != cluster.all_types()) {
        fail_input("placement: job " + std::to_string(classes.example(id)) +
                   " allows only some GPU types, and one pool has no types");
      }
      continue;
    }
    if (scheduler.chooses_gpus()) continue;
    refused_classes_[id] = !placement.place(state_.occupancy_, classes.request(id), scratch);
  }
  scheduler.begin({state_, placement, seed, control});
}

void Simulation::check_demands(const Placement& placement) const {
  if (scheduler_.chooses_gpus()) {
    fail_input("cpu, memory, gpu_share: the policy chooses GPUs itself and knows nothing else");
  }
  if (!placement.has(Flag::demands) || (state_.jobs().has_shares() && !placement.has(Flag::shares))) {
    fail_input("cpu, memory, gpu_share: the placement knows nothing but whole GPUs");
  }
  // Tasks that ask for no GPU can be filled into servers, and orders and queues count in GPUs.
  for (JobId job = 0; job < state_.jobs().num_jobs(); ++job) {
    if (state_.jobs().gpus(job) > 0) continue;
    fail_input("gpus: row " + std::to_string(job) + " is 0; a job of a run needs at least 1");
  }
  if (state_.jobs().has_shares() && !state_.speed().has(Flag::shares)) {
    fail_input("gpu_share: the speed knows nothing of jobs that share a GPU; use fixed");
  }
}

bool Simulation::step(Time limit) {
  auto& finishes = actions_.finishes_;
  while (actions_.num_stale_ > 0 && !finishes.empty()) {
    if (!actions_.is_stale(finishes.top())) break;
    finishes.pop();
    --actions_.num_stale_;
  }
  const Time arrival = state_.num_arrived_ < state_.jobs_.num_jobs()
                           ? state_.jobs_.submit(state_.num_arrived_)
                           : kNever;
  const Time finish = finishes.empty() ? kNever : finishes.top().at;
  const Time now = std::min({finish, arrival, actions_.wake_});
  if (now >= limit) return false;
  if (now.count() >= kMaxTicks) fail_at_the_end_of_time(finish);
  state_.now_ = now;
  actions_.wake_ = kNever;
  finished_.clear();
  arrived_.clear();
  if (finish == now) apply_finishes();
  if (arrival == now) apply_arrivals();
  actions_.turns_.is_timer = finish != now && arrival != now;
  scheduler_.decide(state_, {finished_, arrived_}, actions_);
  if (!actions_.suspended_.empty() || actions_.num_stale_ > 0) actions_.finish_decision();
  if (progress_.is_active()) actions_.move_finishes();
  if (actions_.turns_.is_timer) livelock_.look(state_, actions_.turns_);
  ++counters_.num_instants;
  counters_.num_events += finished_.size() + arrived_.size();
  counters_.max_running = std::max<std::uint64_t>(counters_.max_running, state_.num_running_);
  return true;
}

void Simulation::fail_at_the_end_of_time(Time finish) {
  std::string what = "the scheduler asks for a decision there; wake up earlier";
  if (finish <= actions_.wake_) {
    const FinishEvent event = actions_.finishes_.top();
    what = "job " + std::to_string(state_.slots_[event.slot].job) +
           " would finish there; shorten services or restart costs, submit earlier, or use faster "
           "GPUs and links";
  }
  fail_input("at " + std::to_string(state_.now_.count()) +
             " us: the schedule passes 2^62 microseconds: " + what);
}

void Simulation::apply_finishes() {
  auto& finishes = actions_.finishes_;
  while (!finishes.empty() && finishes.top().at == state_.now_) {
    const FinishEvent event = finishes.top();
    finishes.pop();
    if (actions_.is_stale(event)) {
      --actions_.num_stale_;
      continue;
    }
    Slot& slot = state_.slots_[event.slot];
    if (progress_.is_active()) progress_.finish(event.slot);
    finished_.push_back(slot.job);
    actions_.release(slot);
    actions_.log_.append(slot.job, slot.start, slot.finish, slot.pieces);
    slot.job = kNoJob;
    state_.free_slots_.push_back(event.slot);
    --state_.num_running_;
  }
  num_finished_ += finished_.size();
  if (finished_.size() > 1) std::sort(finished_.begin(), finished_.end());
}

void Simulation::apply_arrivals() {
  const JobTable& jobs = state_.jobs_;
  while (state_.num_arrived_ < jobs.num_jobs() &&
         jobs.submit(state_.num_arrived_) == state_.now_) {
    const JobId job = state_.num_arrived_++;
    JobRecord& record = state_.records_[job];
    record = {.start = kNever,
              .finish = kNever,
              .held = Time{0},
              .paid = Time{0},
              .redo = Time{0},
              .idle_since = state_.now_,
              .preemptions = 0,
              .num_servers = 0,
              .slot = 0,
              .phase = Phase::waiting,
              .reason = RejectReason::none};
    const ClassId id = state_.classes_.of(job);
    if (id == JobClasses::kNoClass) {
      record.reason = state_.classes_.reject_reason(job);
    } else if (refused_classes_[id]) {
      record.reason = RejectReason::refused_when_empty;
    } else if (state_.has_progress() && !state_.speed_.can_run(job)) {
      record.reason = RejectReason::no_configuration;
    } else {
      arrived_.push_back(job);
      continue;
    }
    record.phase = Phase::rejected;
  }
}

void Simulation::run() {
  for (std::uint64_t num_instants = 1; step(); ++num_instants) {
    control_.check();
    if ((num_instants & 4095) != 0) continue;
    control_.num_finished.store(num_finished_, std::memory_order_relaxed);
  }
  control_.num_finished.store(num_finished_, std::memory_order_relaxed);
}

Schedule Simulation::finish() {
  // Whatever still holds GPUs holds them until now.
  for (Slot& slot : state_.slots_) {
    if (!slot.is_busy()) continue;
    JobRecord& record = state_.records_[slot.job];
    if (progress_.is_active()) progress_.stop(record.slot);
    record.held -= slot.finish - state_.now_;
    record.paid -= std::max(Time{0}, slot.start + slot.cost - state_.now_);
    record.phase = Phase::waiting;
    record.finish = kNever;
    actions_.log_.append(slot.job, slot.start, state_.now_, slot.pieces);
    slot.job = kNoJob;
  }
  const JobTable& jobs = state_.jobs_;
  std::uint64_t num_waiting = 0;
  JobId first_waiting = kNoJob;
  for (JobId job = 0; job < state_.num_arrived_; ++job) {
    if (!state_.is_waiting(job)) continue;
    if (num_waiting++ == 0) first_waiting = job;
  }
  for (JobId job = state_.num_arrived_; job < jobs.num_jobs(); ++job) {
    state_.records_[job] = {.start = kNever,
                            .finish = kNever,
                            .held = Time{0},
                            .paid = Time{0},
                            .redo = Time{0},
                            .idle_since = state_.now_,
                            .preemptions = 0,
                            .num_servers = 0,
                            .slot = 0,
                            .phase = Phase::waiting,
                            .reason = RejectReason::none};
  }
  std::vector<std::string> warnings = scheduler_.warnings();
  if (num_waiting > 0) {
    warnings.push_back(std::to_string(num_waiting) +
                       (num_waiting == 1 ? " job waits" : " jobs wait") + " for ever, the first is job " +
                       std::to_string(first_waiting) +
                       ": nothing runs or is still to come, and the policy neither starts what "
                       "waits nor asks to be called again");
  }
  counters_.num_rates_computed = progress_.num_computed();
  counters_.num_rates_changed = progress_.num_changed();
  std::vector<double> uncontended_us;
  uncontended_us.reserve(state_.progress_.size());
  for (const JobProgress& progress : state_.progress_) {
    uncontended_us.push_back(progress.uncontended);
  }
  return Schedule(jobs.num_jobs(), std::move(state_.records_), std::move(actions_.log_),
                  std::move(uncontended_us), std::move(actions_.num_resizes_),
                  scheduler_.take_decisions(), counters_, std::move(warnings));
}

}  // namespace gpusched
