#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "engine/event.hpp"
#include "engine/finish_queue.hpp"
#include "engine/interval_log.hpp"
#include "engine/livelock.hpp"
#include "engine/progress.hpp"
#include "engine/run_state.hpp"
#include "engine/schedule.hpp"
#include "model/allocation.hpp"
#include "seams/actions.hpp"

namespace gpusched {

/// Checks what a scheduler decides, and carries it out.
class Executor final : public Actions {
 public:
  /// All but the rule outlive it.
  Executor(RunState& state, Progress& progress, FinishQueue& finishes, IntervalLog& log,
           RestartRule rule)
      : state_(state), progress_(progress), finishes_(finishes), log_(log), rule_(rule) {}

  void start(JobId job, const Allocation& allocation) override;
  void preempt(JobId job) override;
  void suspend(JobId job) override;
  bool restore(JobId job) override;
  void resize(JobId job, const Allocation& allocation) override;
  void wake(Time at) override;

  /// The requested decision; kNever if none.
  [[nodiscard]] Time wake_up() const noexcept { return wake_; }
  /// A decision begins. `is_timer`: nothing else happened at its instant.
  void begin_decision(bool is_timer) noexcept {
    wake_ = kNever;
    turns_.is_timer = is_timer;
  }
  /// Jobs that stayed suspended are preempted; rates and finishes are brought up to date.
  void end_decision() {
    if (!suspended_.empty()) preempt_suspended();
    if (!left_slots_.empty()) drop_finishes();
    if (!found_.empty()) found_.clear();
    if (!hit_.empty()) hit_.clear();
    if (progress_->is_active()) move_finishes();
    finishes_->settle();
    has_changed_policy_ = false;
  }
  /// Nothing will come of the decision that was asked for.
  void drop_wake() noexcept { wake_ = kNever; }
  /// All that happens is written there, too; null: nowhere.
  void tell(std::vector<Event>* events) noexcept {
    events_ = events;
    has_listener_ = events_ != nullptr || keeps_events_;
  }
  /// From now on what happens is kept for `take_events`, too.
  void keep_events() noexcept { keeps_events_ = has_listener_ = true; }
  /// What happened since the last call.
  [[nodiscard]] std::vector<Event> take_events() { return std::exchange(kept_events_, {}); }
  void note(EventKind kind, JobId job) {
    if (has_listener_) [[unlikely]]
      write(kind, job);
  }
  /// A job has arrived that can run.
  void admit(JobId job) noexcept {
    Time added = rule_.overrun;
    if (state_->jobs().has_writes()) [[unlikely]] {
      const Time work = state_->jobs().service(job) + added;
      added = state_->jobs().checkpoints(job).length_of(work) - state_->jobs().service(job);
    }
    if (added > Time{0}) state_->history_of(job).redo = added;
    turns_.added += rule_.overrun.count();
  }
  /// Call before the run: jobs may lose work.
  void keep_losses() { losses_.resize(state_->jobs().num_jobs()); }
  /// Before all decisions: a job has arrived earlier, with `attained` service so far and its
  /// preemptions. `added`: as of Snapshot.
  void take_up(JobId job, Time attained, Time added);
  /// Then: it has run since `start` and first paid `cost`; that run's service is among `attained`.
  void go_on(JobId job, Time start, Time cost, Time attained, const Allocation& allocation);
  /// The run of the slot has come to its end: its job has done all its work.
  void finish(std::uint32_t id);
  /// The run of the slot ends now, with work left, and so does its job: it is `cancelled` by its
  /// user, or `killed` at its time limit.
  void stop(std::uint32_t id, Phase phase);
  /// The same because this server fails: the job waits again, unless it has failed too often.
  void interrupt(std::uint32_t id, ServerId server, bool is_failure);
  /// A new policy: every job that runs is preempted, and may start again in the same decision.
  void hand_over(const RestartRule& rule);
  /// The run as a whole ends: the job of the slot holds its GPUs until now. `is_lost`: it keeps only
  /// what its last checkpoint holds.
  void cut_off(std::uint32_t id, bool is_lost = false);

  /// The jobs that failing servers have hit at this instant.
  [[nodiscard]] std::span<const JobId> hit() const noexcept { return hit_; }
  [[nodiscard]] const Turns& turns() const noexcept { return turns_; }
  [[nodiscard]] std::vector<std::int32_t> take_num_resizes() { return std::move(num_resizes_); }
  [[nodiscard]] std::vector<JobLosses> take_losses() { return std::move(losses_); }

 private:
  [[gnu::noinline, gnu::cold]] void write(EventKind kind, JobId job);
  void check_gang(JobId job, const Allocation& allocation) const;
  void check_width(JobId job, const Allocation& allocation) const;
  void check_piece(JobId job, const Piece& piece) const;
  [[nodiscard]] Time redone(JobId job, int gpus, std::int32_t preemptions) const;
  void check_stop(const Slot& slot, const char* verb) const;
  [[noreturn, gnu::noinline, gnu::cold]] void fail(JobId job, const char* what) const;
  [[nodiscard]] Slot& running_slot(JobId job, const char* verb);
  void begin_run(std::uint32_t id, JobId job, const Allocation& allocation);
  /// From `start` on the job has the slot and these GPUs, until `end` if nothing happens.
  void hold(std::uint32_t id, JobId job, Time start, Time end, const Allocation& allocation);
  [[nodiscard]] Time service_of_run(const Slot& slot, std::uint32_t id) const noexcept;
  void undo_expected_end(const Slot& slot) noexcept;
  void end_run(Slot& slot, bool is_lost = false);
  [[nodiscard]] bool was_hit(JobId job) const noexcept {
    return std::find(hit_.begin(), hit_.end(), job) != hit_.end();
  }
  bool settle_losses(const Slot& slot, std::uint32_t id, Time added, bool is_lost);
  void preempt_suspended();
  void drop_finishes();
  void move_finishes();

  Ref<RunState> state_;
  Ref<Progress> progress_;
  Ref<FinishQueue> finishes_;
  Ref<IntervalLog> log_;
  RestartRule rule_;
  Turns turns_;
  std::vector<JobId> suspended_;
  std::vector<JobId> hit_;    // by failing servers, at this instant
  std::vector<JobLosses> losses_;  // of each job; empty if none can lose work
  std::vector<JobId> found_;  // running since the instant at which the first decision is taken
  std::vector<std::uint32_t> left_slots_;  // of jobs that this decision preempts
  std::vector<std::int32_t> num_resizes_;  // of each job; empty before the first
  Time wake_ = kNever;
  bool has_changed_policy_ = false;  // in this decision
  std::vector<Event>* events_ = nullptr;
  std::vector<Event> kept_events_;
  bool keeps_events_ = false;
  bool has_listener_ = false;  // one of the two
};

}  // namespace gpusched
