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
      placement_(placement),
      seed_(seed),
      control_(control),
      executor_(state_, progress_, finishes_, log_, scheduler.restart_rule()) {
  if (placement.is_pooled() && progress_.is_active()) {
    fail_input("placement: the speed depends on servers, and a pool has none");
  }
  feasibility_.begin(placement, seed, scheduler, control);
  scheduler.begin({state_, placement, seed, control});
}

Time Simulation::next_arrival() const {
  const JobTable& jobs = state_.jobs();
  return state_.num_arrived() < jobs.num_jobs() ? jobs.submit(state_.num_arrived()) : kNever;
}

bool Simulation::step(Time limit) {
  const Time finish = finishes_.next();
  const Time arrival = next_arrival();
  const Time now = std::min({finish, arrival, executor_.wake_up(), outside_.at});
  if (now >= limit) return false;
  if (now.count() >= kMaxTicks) fail_at_the_end_of_time(finish);
  state_.move_to(now);
  finished_.clear();
  arrived_.clear();
  if (finish == now) apply_finishes();
  const bool is_outside = outside_.at == now;
  if (is_outside) [[unlikely]]
    apply_outside();
  if (arrival == now) apply_arrivals();
  const bool is_timer = finish != now && arrival != now && !is_outside;
  executor_.begin_decision(is_timer);
  scheduler_->decide(state_, {finished_, arrived_, !finished_.empty() || is_outside}, executor_);
  executor_.end_decision();
  if (is_timer) livelock_.look(state_, executor_.turns());
  ++counters_.num_instants;
  counters_.num_events += finished_.size() + arrived_.size();
  counters_.max_running = std::max<std::uint64_t>(counters_.max_running, state_.num_running());
  return true;
}

void Simulation::fail_at_the_end_of_time(Time finish) {
  std::string what = "the scheduler asks for a decision there; wake up earlier";
  if (finish <= executor_.wake_up()) {
    what = "job " + std::to_string(state_.slot_at(finishes_.next_slot()).job) +
           " would finish there; shorten services or restart costs, submit earlier, or use faster "
           "GPUs and links";
  }
  fail_input("at " + std::to_string(state_.now().count()) +
             " us: the schedule passes 2^62 microseconds: " + what);
}

[[gnu::flatten]] void Simulation::apply_finishes() {
  finishes_.take(state_.now(), [&](std::uint32_t slot) {
    finished_.push_back(state_.slot_at(slot).job);
    executor_.finish(slot);
  });
  num_finished_ += finished_.size();
  if (finished_.size() > 1) std::sort(finished_.begin(), finished_.end());
}

void Simulation::cancel(JobId job, Time at) {
  if (state_.is_waiting(job)) {
    if (!scheduler_->withdraw(state_, job)) {
      fail_input("cancel: job " + std::to_string(job) +
                 " waits, and the policy cannot do without a job that waits");
    }
    state_.cancel(job);
    executor_.note(EventKind::cancel, job);
  } else {
    outside_.cancelled.push_back(job);
  }
  outside_.at = at;
}

void Simulation::hand_over(Scheduler& scheduler, Time at) {
  outside_.scheduler = &scheduler;
  outside_.at = at;
}

void Simulation::apply_outside() {
  for (const JobId job : outside_.cancelled) {
    if (!state_.holds(job)) continue;  // it has just finished
    executor_.cancel(state_.record(job).slot);
    finished_.push_back(job);
  }
  std::sort(finished_.begin(), finished_.end());
  Scheduler* const next = outside_.scheduler;
  outside_ = {};
  if (next == nullptr) return;
  executor_.hand_over(next->restart_rule());
  scheduler_ = next;
  scheduler_->begin({state_, *placement_, seed_, *control_});
  finished_.clear();  // of which it knows nothing
  for (JobId job = 0; job < state_.num_arrived(); ++job) {
    if (state_.is_waiting(job)) arrived_.push_back(job);
  }
}

[[gnu::flatten]] void Simulation::apply_arrivals() {
  while (next_arrival() == state_.now()) {
    const JobId job = state_.arrive();
    const RejectReason reason = feasibility_.judge(job);
    if (reason == RejectReason::none) {
      arrived_.push_back(job);
    } else {
      state_.reject(job, reason);
      ++num_rejected_;
      executor_.note(EventKind::reject, job);
    }
  }
}

void Simulation::run() {
  for (std::uint64_t num_instants = 1; step(); ++num_instants) {
    control_->check();
    if ((num_instants & 4095) != 0) continue;
    control_->num_finished.store(num_finished_, std::memory_order_relaxed);
  }
  control_->num_finished.store(num_finished_, std::memory_order_relaxed);
}

Schedule Simulation::finish() {
  // Whatever still holds GPUs holds them until now.
  for (std::uint32_t slot = 0; slot < state_.slots().size(); ++slot) {
    if (state_.slot_at(slot).is_busy()) executor_.cut_off(slot);
  }
  std::uint64_t num_waiting = 0;
  JobId first_waiting = kNoJob;
  for (JobId job = 0; job < state_.num_arrived(); ++job) {
    if (!state_.is_waiting(job)) continue;
    if (num_waiting++ == 0) first_waiting = job;
  }
  std::vector<std::string> warnings = scheduler_->warnings();
  if (num_waiting > 0) {
    warnings.push_back(std::to_string(num_waiting) +
                       (num_waiting == 1 ? " job waits" : " jobs wait") +
                       " for ever, the first is job " + std::to_string(first_waiting) +
                       ": nothing runs or is still to come, and the policy neither starts what "
                       "waits nor asks to be called again");
  }
  counters_.num_rates_computed = progress_.num_computed();
  counters_.num_rates_changed = progress_.num_changed();
  return Schedule(state_.jobs().num_jobs(), state_.take_records(), std::move(log_),
                  state_.uncontended_us(), executor_.take_num_resizes(), scheduler_->decisions(),
                  counters_, std::move(warnings));
}

}  // namespace gpusched
