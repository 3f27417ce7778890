#include "engine/simulation.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <tuple>
#include <utility>

#include "base/check.hpp"

namespace gpusched {
namespace {

bool is_any_known_ahead(std::span<const Outage> outages) {
  return std::any_of(outages.begin(), outages.end(),
                     [](const Outage& outage) { return outage.is_known_ahead(); });
}

}  // namespace

Simulation::Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
                       Placement& placement, const Pacing& pacing, std::uint64_t seed,
                       RunControl& control, std::span<const Outage> outages, bool kills_impossible,
                       const Snapshot* snapshot)
    : state_(jobs, cluster, pacing.speed, placement.is_pooled(), placement.follows_servers(jobs),
             is_any_known_ahead(outages)),
      progress_(state_, pacing.speed, pacing.contention, pacing.verify),
      scheduler_(scheduler),
      placement_(placement),
      seed_(seed),
      control_(control),
      executor_(state_, progress_, finishes_, log_, scheduler.restart_rule()) {
  if (placement.is_pooled() && progress_.is_active()) {
    fail_input("placement: the speed depends on servers, but a single pool has none");
  }
  if (jobs.has_limits()) executor_.keep_losses();
  if (jobs.has_writes() && (progress_.is_active() || snapshot != nullptr)) {
    fail_input(
        "checkpoint_write_us: supported only under the speed `fixed`, in runs that begin empty");
  }
  feasibility_.begin(placement, seed, scheduler, control);
  eligibility_.begin(kills_impossible);
  may_hold_ = has_extras_ = eligibility_.is_used();
  if (may_hold_) executor_.keep_events();
  if (snapshot != nullptr && !jobs.columns().cancel_at_us.empty()) {
    fail_input("cancel_at_us: supported only in runs that begin empty");
  }
  expect(outages);
  if (snapshot != nullptr) restore(*snapshot);
  scheduler.begin({state_, *placement_, seed, control});
  if (snapshot != nullptr && !snapshot->is_anew && !scheduler.adopt(state_)) {
    fail_input(
        "policy: it keeps more than the state between decisions, so it cannot start from a "
        "snapshot");
  }
}

namespace {

/// Withholds the GPUs that no job of the run holds, row by row; returns the first row of a job.
std::size_t withhold(const Snapshot& snapshot, RunState& state) {
  const Cluster& cluster = state.cluster();
  std::vector<GpuMask> taken(static_cast<std::size_t>(cluster.num_servers()), 0);
  std::size_t row = 0;
  const std::size_t num_rows = snapshot.held_job.size();
  while (row < num_rows && snapshot.held_job[row] < 0) {
    const std::int64_t gang = snapshot.held_job[row];
    std::vector<Piece> pieces;
    for (; row < num_rows && snapshot.held_job[row] == gang; ++row) {
      const Piece piece(static_cast<ServerId>(snapshot.held_server[row]), snapshot.held_mask[row]);
      const bool is_next = pieces.empty() || pieces.back().server < piece.server;
      if (!is_next || piece.server >= cluster.num_servers() ||
          static_cast<int>(std::bit_width(piece.mask)) > cluster.gpus(piece.server) ||
          (piece.mask & taken[static_cast<std::size_t>(piece.server)]) != 0) {
        fail_input("held: a GPU of server " + std::to_string(piece.server) +
                   " is unknown, or listed twice");
      }
      taken[static_cast<std::size_t>(piece.server)] |= piece.mask;
      pieces.push_back(piece);
    }
    state.withhold(pieces);
  }
  return row;
}

}  // namespace

void Simulation::restore(const Snapshot& snapshot) {
  if (progress_.is_active()) {
    fail_input("speed: a run can start from a snapshot only under `fixed`");
  }
  const JobTable& jobs = state_.jobs();
  state_.move_to(snapshot.now);
  while (next_arrival() <= snapshot.now) {
    const JobId job = state_.arrive();
    const Time attained{snapshot.attained_us[job]};
    const Time added{snapshot.added_us[job]};
    if (attained < Time{0} || std::max(attained, added).count() > kMaxTicks / 64) {
      fail_input("attained_us, added_us: row " + std::to_string(job) + " is " +
                 std::to_string(attained.count()) + ", " + std::to_string(added.count()) +
                 "; both must be from 0 to 2^56");
    }
    JobRecord& record = state_.record_of(job);
    record.preemptions = snapshot.preemptions[job];
    const bool runs = snapshot.start_us[job] >= 0;
    if (may_hold_ && (runs || attained > Time{0} || record.preemptions > 0)) {
      eligibility_.find_started(job, runs ? Time{snapshot.start_us[job]} : snapshot.now, runs);
    }
    if (runs) continue;
    if (attained > Time{0} || record.preemptions > 0) {
      JobHistory& past = state_.history_of(job);
      past.held = attained;
      past.idle_since = std::min(jobs.submit(job), snapshot.now - kTick);
      record.start = jobs.submit(job);
    }
    const RejectReason reason = feasibility_.judge(job);
    if (reason == RejectReason::none) {
      executor_.take_up(job, attained, added);
      if (may_hold_ && !eligibility_.arrive(job)) {
        state_.hold(job);
        eligibility_.hold(job);
      }
    } else {
      reject(job, reason);
    }
  }
  num_found_ = state_.num_arrived();
  restore_running(snapshot);
  change({Change::restore}, std::min({snapshot.first, finishes_.next(), next_arrival(),
                                      eligibility_.next(), outages_.next()}));
}

void Simulation::restore_running(const Snapshot& snapshot) {
  std::size_t row = withhold(snapshot, state_);
  Allocation held;
  const auto runs = [](std::int64_t start_us) { return start_us >= 0; };
  state_.reserve_slots(static_cast<std::size_t>(
      std::count_if(snapshot.start_us.begin(), snapshot.start_us.begin() + state_.num_arrived(),
                    runs)));
  for (JobId job = 0; job < state_.num_arrived(); ++job) {
    if (snapshot.start_us[job] < 0) continue;
    held.reset(state_.occupancy().is_pooled() ? state_.jobs().gpus(job) : 0);
    for (; row < snapshot.held_job.size() && snapshot.held_job[row] == job; ++row) {
      const Piece piece(static_cast<ServerId>(snapshot.held_server[row]), snapshot.held_mask[row]);
      held.pieces.push_back(piece);
      held.gpus += piece.gpus;
    }
    if (snapshot.is_anew) {
      fail_input("start_us: job " + std::to_string(job) + " runs, but no decision was made yet");
    }
    const Time start{snapshot.start_us[job]};
    const Time cost{snapshot.cost_us[job]};
    if (start > snapshot.now || cost < Time{0} || cost.count() > kMaxTicks / 64) {
      fail_input("start_us, cost_us: job " + std::to_string(job) +
                 " has a start in the future or an "
                 "invalid cost");
    }
    try {
      const Time attained{snapshot.attained_us[job]};
      executor_.take_up(job, attained, Time{snapshot.added_us[job]});
      executor_.go_on(job, start, cost, attained, held);
    } catch (const InvariantError& error) {
      fail_input(std::string("held: ") + error.what());
    }
  }
  if (row < snapshot.held_job.size()) {
    fail_input("held: job " + std::to_string(snapshot.held_job[row]) + " is not running");
  }
}

void Simulation::expect(std::span<const Outage> outages) {
  if (outages.empty()) return;
  if (placement_->is_pooled()) fail_input("placement: outages are of servers, but a pool has none");
  if (state_.jobs().has_shares()) {
    fail_input("gpu_share: not supported in runs with outages");
  }
  outages_.begin(outages, state_.cluster());
  look_ahead();
  state_.begin_closing();
  has_extras_ = true;
  executor_.keep_losses();
  if (is_any_known_ahead(outages)) placement_ = &windows_.emplace(*placement_, state_, outages);
}

bool Simulation::can_place(JobId job) const {
  Allocation scratch;
  return placement_->place(state_.occupancy(), state_.request(job), scratch);
}

Time Simulation::next_arrival() const {
  const JobTable& jobs = state_.jobs();
  return state_.num_arrived() < jobs.num_jobs() ? jobs.submit(state_.num_arrived()) : kNever;
}

[[gnu::always_inline]] inline bool Simulation::open(Time limit) {
  const Time finish = finishes_.next();
  const Time arrival = next_arrival();
  const Time now = std::min(std::min(finish, arrival), std::min(executor_.wake_up(), change_at_));
  if (now >= limit) return false;
  const bool has_change = change_at_ == now;
  if (has_change && is_over()) [[unlikely]]
    return false;
  if (now.count() >= kMaxTicks) fail_at_the_end_of_time(finish);
  state_.move_to(now);
  finished_.clear();
  arrived_.clear();
  if (finish == now) apply_finishes();
  is_timer_ = finish != now && arrival != now && !has_change;
  if (is_timer_) is_idle_ = state_.num_running() == 0;
  has_changed_ = is_anew_ = has_other_gpus_ = false;
  if (has_change) [[unlikely]]
    apply_changes();
  if (arrival == now) apply_arrivals();
  if (has_extras_) [[unlikely]]
    end_opening();
  executor_.begin_decision(is_timer_);
  return true;
}

bool Simulation::step(Time limit) {
  if (!open(limit)) return false;
  const std::span<const JobId> finished = is_anew_ ? std::span<const JobId>{} : finished_;
  const bool has_released = !finished_.empty() || has_changed_;
  scheduler_->decide(state_, {finished, arrived_, has_released, has_other_gpus_}, executor_);
  close_instant();
  return true;
}

bool Simulation::open_instant(Time limit) { return open(limit); }

bool Simulation::is_over() { return next() == kNever; }

void Simulation::end_opening() {
  if (may_hold_) release_held();
  if (state_.has_changed_capacity()) show_other_gpus();
}

void Simulation::close_instant() {
  executor_.end_decision();
  if (may_hold_) [[unlikely]] {
    eligibility_.see_starts(executor_.take_events());
    look_ahead();
  }
  if (is_timer_) {
    livelock_.look(state_, executor_.turns());
    // What waits now waits for GPUs that never come back: no timer helps it.
    const bool is_stuck = is_idle_ && state_.num_running() == 0 && outages_.is_over();
    const Time more = std::min(next_arrival(), eligibility_.next());
    if (is_stuck && more == kNever) executor_.drop_wake();
  }
  ++counters_.num_instants;
  counters_.num_events += finished_.size() + arrived_.size();
  counters_.max_running = std::max<std::uint64_t>(counters_.max_running, state_.num_running());
  if (log_.size() > most_intervals_) [[unlikely]]
    fail_at_the_limit_of_the_log();
}

void Simulation::fail_at_the_limit_of_the_log() const {
  throw LogLimitError("at " + std::to_string(state_.now().count()) + " us: the log has " +
                      std::to_string(log_.size()) + " intervals, the last one of job " +
                      std::to_string(log_.last_job()) + ", and max_intervals is " +
                      std::to_string(most_intervals_) +
                      "; raise it, or preempt less often (a longer period_s)");
}

void Simulation::fail_at_the_end_of_time(Time finish) {
  std::string what = "the scheduler requests a decision there; wake up earlier";
  if (finish <= executor_.wake_up()) {
    what = "job " + std::to_string(state_.slot_at(finishes_.next_slot()).job) +
           " would finish there; shorten services or restart costs, submit earlier, or use faster "
           "GPUs and links";
  }
  fail_input("at " + std::to_string(state_.now().count()) +
             " us: the schedule passes 2^62 microseconds: " + what);
}

[[gnu::flatten]] void Simulation::apply_finishes() {
  std::size_t num_killed = 0;
  finishes_.take(state_.now(), [&](std::uint32_t slot) {
    finished_.push_back(state_.slot_at(slot).job);
    if (state_.slot_at(slot).work_end == state_.now()) [[likely]] {
      executor_.finish(slot);
    } else {
      executor_.stop(slot, Phase::killed);
      ++num_killed;
    }
  });
  num_finished_ += finished_.size() - num_killed;
  if (finished_.size() > 1) std::sort(finished_.begin(), finished_.end());
}

void Simulation::change(const Change& change, Time at) {
  // A run that was over goes on: servers have gone down and come back since then.
  for (const bool was_over = is_over(); was_over && outages_.next() < at;) {
    state_.move_to(outages_.next());
    apply_outages();
  }
  pending_.changes.push_back(change);
  pending_.at = at;
  look_ahead();
}

void Simulation::cancel(JobId job, Time at) {
  withdraw(job, has_been_shown(), "cancel");
  change({Change::cancel, job}, at);
}

void Simulation::hold(JobId job, Time at) {
  const auto is_its_release = [&](const Change& change) {
    return change.kind == Change::release && change.job == job;
  };
  if (std::erase_if(pending_.changes, is_its_release) == 0) {
    let_forget(job, has_been_shown(), "hold");
    state_.hold(job);
    has_held_ = true;
  }
  change({Change::hold, job}, at);
}

/// The scheduler no longer knows a job that waits.
void Simulation::let_forget(JobId job, bool is_known, const char* what) {
  if (state_.is_waiting(job) && is_known && !scheduler_->withdraw(state_, job)) {
    fail_input(std::string(what) + ": job " + std::to_string(job) +
               " is waiting, and the policy cannot remove a waiting job");
  }
}

/// Ends a job that does not run, if it is not over.
void Simulation::withdraw(JobId job, bool is_known, const char* what) {
  if (!state_.is_waiting(job) && !state_.is_held(job)) return;
  let_forget(job, is_known, what);
  state_.end(job, Phase::cancelled);
  executor_.note(EventKind::cancel, job);
}

void Simulation::hand_over(Scheduler& scheduler, Time at) {
  feasibility_.follow(windows_ ? windows_->without() : *placement_, scheduler, *control_);
  change({Change::hand_over}, at);
  scheduler_ = &scheduler;
}

void Simulation::apply_changes() {
  PendingChanges now;
  if (pending_.at == state_.now()) now = std::exchange(pending_, {});
  apply_cancellations(now);
  if (outages_.next() == state_.now()) apply_outages();
  look_ahead();
  put_back(now);
  if (now.has(Change::hand_over)) {
    begin_anew();
  } else if (now.has(Change::restore)) {
    show_waiting();
  }
}

/// Jobs that were held from outside join the queue again, before those that arrive.
void Simulation::put_back(const PendingChanges& now) {
  for (const Change& change : now.changes) {
    if (change.kind != Change::release || !state_.is_held(change.job)) continue;
    state_.release(change.job);
    executor_.note(EventKind::release, change.job);
    if (!now.has(Change::hand_over)) arrived_.push_back(change.job);
  }
  std::sort(arrived_.begin(), arrived_.end());
}

void Simulation::apply_cancellations(const PendingChanges& now) {
  for (const Change& change : now.changes) {
    if (change.kind != Change::ask) has_changed_ = true;
    // It may have waited, or have just finished.
    if (change.kind == Change::cancel) stop_running(change.job);
  }
  if (may_hold_) {
    const std::string at = "at " + std::to_string(state_.now().count()) + " us: cancel_at_s";
    for (const JobId job : eligibility_.take_cancelled()) {
      if (!state_.is_held(job)) has_changed_ = true;
      stop_running(job);
      withdraw(job, !now.has(Change::hand_over), at.c_str());
    }
  }
  std::sort(finished_.begin(), finished_.end());
}

void Simulation::stop_running(JobId job) {
  if (!state_.is_running(job)) return;
  executor_.stop(state_.record(job).slot, Phase::cancelled);
  finished_.push_back(job);
}

void Simulation::apply_outages() {
  std::vector<ServerId> failed;
  std::vector<ServerId> maintained;
  outages_.take(state_.now(), [&](ServerId server, OutageCalendar::Turn turn) {
    if (turn == OutageCalendar::Turn::closes) state_.close(server);
    if (turn == OutageCalendar::Turn::opens) state_.open(server);
    if (turn == OutageCalendar::Turn::fails) failed.push_back(server);
    if (turn == OutageCalendar::Turn::is_maintained) maintained.push_back(server);
  });
  if (!failed.empty() || !maintained.empty()) hit(failed, maintained);
}

/// All jobs with a GPU of these servers, which are in order, lose their run.
void Simulation::hit(const std::vector<ServerId>& failed, const std::vector<ServerId>& maintained) {
  constexpr ServerId kNone = -1;
  const auto first_of = [&](const Slot& run, const std::vector<ServerId>& servers) {
    const auto found = std::find_if(run.pieces.begin(), run.pieces.end(), [&](const Piece& piece) {
      return std::binary_search(servers.begin(), servers.end(), piece.server);
    });
    return found == run.pieces.end() ? kNone : found->server;
  };
  std::vector<std::tuple<JobId, ServerId, bool>> hits;
  state_.for_each_running([&](const Slot& run) {
    const ServerId server = first_of(run, failed);
    const ServerId other = server == kNone ? first_of(run, maintained) : kNone;
    if (server != kNone) hits.emplace_back(run.job, server, true);
    if (other != kNone) hits.emplace_back(run.job, other, false);
  });
  std::sort(hits.begin(), hits.end());
  for (const auto& [job, server, is_failure] : hits) {
    executor_.interrupt(state_.record(job).slot, server, is_failure);
  }
}

/// Another scheduler decides from this instant on.
void Simulation::begin_anew() {
  executor_.hand_over(scheduler_->restart_rule());
  for (JobId job = 0; job < state_.num_arrived(); ++job) {
    if (!state_.is_waiting(job) && !state_.is_held(job)) continue;
    const RejectReason reason = feasibility_.judge(job);
    if (reason != RejectReason::none) reject(job, reason);
  }
  scheduler_->begin({state_, *placement_, seed_, *control_});
  is_anew_ = true;
  show_waiting();
}

/// The scheduler decides on other GPUs than before. One that has just begun knows no others.
void Simulation::show_other_gpus() {
  state_.take_capacity_change();
  has_changed_ = has_other_gpus_ = true;
  if (is_anew_) return;
  for (const JobId job : executor_.hit()) {
    finished_.push_back(job);
    if (state_.is_waiting(job)) arrived_.push_back(job);
  }
  std::sort(finished_.begin(), finished_.end());
  std::sort(arrived_.begin(), arrived_.end());
}

void Simulation::show_waiting() {
  state_.for_each_waiting([&](JobId job) { arrived_.push_back(job); });
}

void Simulation::reject(JobId job, RejectReason reason) {
  state_.reject(job, reason);
  ++num_rejected_;
  executor_.note(EventKind::reject, job);
}

[[gnu::flatten]] void Simulation::apply_arrivals() {
  while (next_arrival() == state_.now()) {
    const JobId job = state_.arrive();
    const RejectReason reason = feasibility_.judge(job);
    if (reason != RejectReason::none) {
      reject(job, reason);
    } else if (may_hold_ && !eligibility_.arrive(job)) {
      state_.hold(job);
      eligibility_.hold(job);
    } else {
      executor_.admit(job);
      arrived_.push_back(job);
    }
  }
}

/// What ended at this instant lets other jobs join the queue, or makes them impossible.
void Simulation::release_held() {
  eligibility_.see_ends(executor_.take_events());
  for (auto given_up = eligibility_.take_impossible(); !given_up.empty();
       given_up = eligibility_.take_impossible()) {
    std::sort(given_up.begin(), given_up.end());
    for (const JobId job : given_up) withdraw(job, true, "");
    eligibility_.see_ends(executor_.take_events());
  }
  const std::vector<JobId> released = eligibility_.take_released();
  for (const JobId job : released) {
    state_.release(job);
    if (job >= num_found_) executor_.admit(job);  // a snapshot says what those had before
    arrived_.push_back(job);
    if (state_.jobs().submit(job) < state_.now()) executor_.note(EventKind::release, job);
  }
  if (!released.empty()) std::sort(arrived_.begin(), arrived_.end());
}

void Simulation::run() {
  for (std::uint64_t num_instants = 1; step(); ++num_instants) {
    control_->check();
    if ((num_instants & 4095) != 0) continue;
    control_->num_finished.store(num_finished_, std::memory_order_relaxed);
  }
  control_->num_finished.store(num_finished_, std::memory_order_relaxed);
}

void Simulation::warn_of_held(std::vector<std::string>& warnings) const {
  std::uint64_t num_held = 0;
  JobId first = kNoJob;
  for (JobId job = 0; job < state_.num_arrived(); ++job) {
    if (state_.is_held(job) && num_held++ == 0) first = job;
  }
  if (num_held == 0) return;
  warnings.push_back(std::to_string(num_held) + (num_held == 1 ? " job stays" : " jobs stay") +
                     " held, the first is job " + std::to_string(first) +
                     (may_hold_ && eligibility_.is_impossible(first)
                          ? ": its dependencies can never be met"
                      : eligibility_.has_queued(first) || state_.jobs().eligible(first) == kNever
                          ? ": it is held for good"
                          : ""));
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
  // One that is still to begin has nothing to say, and what the one before it said is lost.
  const bool has_decided = !pending_.has(Change::hand_over);
  std::vector<std::string> warnings;
  if (has_decided) warnings = scheduler_->warnings();
  if (num_waiting > 0) {
    warnings.push_back(
        std::to_string(num_waiting) + (num_waiting == 1 ? " job waits" : " jobs wait") +
        " forever, the first is job " + std::to_string(first_waiting) +
        ": nothing is running or due to arrive, and the policy neither started a "
        "waiting job nor requested a wake-up" +
        (state_.gpus_up() < state_.cluster().num_gpus() ? "; some GPUs are down" : ""));
  }
  if (may_hold_ || has_held_) warn_of_held(warnings);
  counters_.num_rates_computed = progress_.num_computed();
  counters_.num_rates_changed = progress_.num_changed();
  return Schedule(state_.jobs().num_jobs(), state_.take_records(), std::move(log_),
                  state_.uncontended_us(), executor_.take_num_resizes(), executor_.take_losses(),
                  eligibility_.take_eligible_us(),
                  has_decided ? scheduler_->decisions() : std::vector<Decision>{}, counters_,
                  std::move(warnings));
}

}  // namespace gpusched
