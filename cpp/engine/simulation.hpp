#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/run_control.hpp"
#include "engine/eligibility.hpp"
#include "engine/event.hpp"
#include "engine/executor.hpp"
#include "engine/feasibility.hpp"
#include "engine/finish_queue.hpp"
#include "engine/interval_log.hpp"
#include "engine/livelock.hpp"
#include "engine/outage_calendar.hpp"
#include "engine/progress.hpp"
#include "engine/run_state.hpp"
#include "engine/schedule.hpp"
#include "engine/snapshot.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/window_placement.hpp"

namespace gpusched {

/// Replays the jobs on the cluster, one instant after the other. At each, what happens is applied
/// in one order, by index within a kind: finishes, kills at limits, cancellations, outages that
/// begin and those that end, a change of policy, arrivals, releases of held jobs, timers. Then the
/// scheduler is shown what finished and arrived and whether GPUs were released, and decides once.
class Simulation {
 public:
  /// How long jobs take. `verify`: after each instant recompute all rates and compare.
  struct Pacing {
    Speed& speed;
    const Contention& contention;
    bool verify = false;
  };

  /// All arguments outlive the simulation, but for the last three. `outages`: when servers are out
  /// of use. `kills_impossible`: a job whose dependencies can never be met is cancelled. `snapshot`:
  /// null, or where it begins. Then its first decision, at `first` or as something happens before,
  /// is shown all that waits. Throws InvalidInput if the scheduler, the placement or the jobs do not
  /// support one of these.
  Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
             Placement& placement, const Pacing& pacing, std::uint64_t seed, RunControl& control,
             std::span<const Outage> outages = {}, bool kills_impossible = false,
             const Snapshot* snapshot = nullptr);

  /// Handles the next instant if it lies before `limit`; false when there is none.
  bool step(Time limit = kNever);
  /// The same in two halves, for callers that decide instead of the scheduler: applies the next
  /// instant's events; then `actions` may be used until the instant is closed.
  bool open_instant(Time limit = kNever);
  [[nodiscard]] Actions& actions() noexcept { return executor_; }
  void close_instant();
  /// The next instant, or kNever.
  [[nodiscard]] Time next() {
    const Time next = std::min(
        {finishes_.next(), next_arrival(), executor_.wake_up(), pending_.at, eligibility_.next()});
    // When all jobs are done, no outage matters any more.
    return next == kNever && !state_.has_waiting() ? kNever : std::min(next, outages_.next());
  }
  /// The next decision if nothing finishes or arrives before, or kNever.
  [[nodiscard]] Time next_decision() const noexcept {
    return std::min(executor_.wake_up(), pending_.at);
  }
  /// From now on the first instant after which the log has more intervals than that throws
  /// LogLimitError; it is handled, and `finish` can be called.
  void limit_intervals(std::size_t most) noexcept { most_intervals_ = most; }
  /// Runs to the end. Throws Stopped at the first instant after a stop was requested.
  void run();
  /// Takes back a job that has arrived and is not done: what waits never starts, what runs ends at
  /// the instant `at`, a decision in any case. `at` lies after the last instant, and no other instant
  /// lies between. Throws InvalidInput if the scheduler cannot do without a job that waits.
  void cancel(JobId job, Time at);
  /// Takes a job out of the queue, likewise, until it is put back; errors as for `cancel`.
  void hold(JobId job, Time at);
  /// Puts it back at `at`, likewise. One that the table holds is never released so.
  void release(JobId job, Time at) { change({Change::release, job}, at); }
  /// Requests a decision at `at`, likewise, without any event.
  void ask(Time at) { change({Change::ask}, at); }
  /// Switches to another scheduler at `at`, likewise; it must outlive the simulation, and the old
  /// one is no longer used. Every running job is preempted; all waiting jobs arrive again, except
  /// those that can never start now: they are rejected. Throws InvalidInput if the scheduler does
  /// not support the jobs, or outages.
  void hand_over(Scheduler& scheduler, Time at);

  /// Ends the simulation, whether all jobs are done or not.
  [[nodiscard]] Schedule finish();
  /// The result of `finish` so far; the simulation can continue.
  [[nodiscard]] Schedule so_far() const { return Cloning::copy(*this)->finish(); }

  /// From now on all that happens is written there too, until it is called with null. The list
  /// outlives the simulation.
  void tell(std::vector<Event>* events) noexcept { executor_.tell(events); }

  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// The jobs that finished at the present instant, were killed or taken back as they ran, and those
  /// that arrived and can run.
  [[nodiscard]] std::span<const JobId> finished() const noexcept { return finished_; }
  [[nodiscard]] std::span<const JobId> arrived() const noexcept { return arrived_; }
  [[nodiscard]] std::uint64_t num_finished() const noexcept { return num_finished_; }
  [[nodiscard]] std::uint64_t num_rejected() const noexcept { return num_rejected_; }
  /// The decision that the scheduler requested, or kNever.
  [[nodiscard]] Time wake_up() const noexcept { return executor_.wake_up(); }
  /// Whether the placement has GPUs for the job now.
  [[nodiscard]] bool can_place(JobId job) const;
  [[nodiscard]] std::uint64_t num_instants() const noexcept { return counters_.num_instants; }

 private:
  [[nodiscard]] bool open(Time limit);
  [[nodiscard, gnu::noinline, gnu::cold]] bool is_over();
  /// A change of the run from outside.
  struct Change {
    enum Kind : std::uint8_t {
      restore,  // the run begins from a snapshot
      cancel,     // a job is taken back
      hold,       // a job is taken out of the queue
      release,    // and put back
      hand_over,  // another scheduler decides
      ask,        // a decision, and nothing is done
    };

    Kind kind;
    JobId job = kNoJob;
  };
  /// All of it that is still to happen, at one instant, in the order in which it was said.
  struct PendingChanges {
    Time at = kNever;
    std::vector<Change> changes;

    [[nodiscard]] bool has(Change::Kind kind) const noexcept {
      return std::any_of(changes.begin(), changes.end(),
                         [&](const Change& change) { return change.kind == kind; });
    }
  };

  void change(const Change& change, Time at);
  void apply_finishes();
  void apply_changes();
  void apply_cancellations(const PendingChanges& now);
  void withdraw(JobId job, bool is_known, const char* what);
  void let_forget(JobId job, bool is_known, const char* what);
  void put_back(const PendingChanges& now);
  /// Whether the scheduler has been shown what waits: one that is still to begin has not.
  [[nodiscard]] bool has_been_shown() const noexcept {
    return !pending_.has(Change::restore) && !pending_.has(Change::hand_over);
  }
  void stop_running(JobId job);
  void release_held();
  [[gnu::noinline, gnu::cold]] void end_opening();
  void look_ahead() { change_at_ = std::min({pending_.at, outages_.next(), eligibility_.next()}); }
  void apply_outages();
  void hit(const std::vector<ServerId>& failed, const std::vector<ServerId>& maintained);
  void begin_anew();
  void show_other_gpus();
  void expect(std::span<const Outage> outages);
  void show_waiting();
  void warn_of_held(std::vector<std::string>& warnings) const;
  void reject(JobId job, RejectReason reason);
  void restore(const Snapshot& snapshot);
  void restore_running(const Snapshot& snapshot);
  void apply_arrivals();
  [[nodiscard]] Time next_arrival() const;
  [[noreturn]] void fail_at_the_end_of_time(Time finish);
  [[noreturn]] void fail_at_the_limit_of_the_log() const;

  RunState state_;
  Progress progress_;
  FinishQueue finishes_;
  IntervalLog log_;
  std::size_t most_intervals_ = std::numeric_limits<std::size_t>::max();
  Ref<Scheduler> scheduler_;
  Ref<Placement> placement_;
  std::uint64_t seed_;
  Ref<RunControl> control_;
  Executor executor_;
  Feasibility feasibility_{state_};
  Livelock livelock_;
  OutageCalendar outages_;
  Eligibility eligibility_{state_};
  PendingChanges pending_;
  Time change_at_ = kNever;  // of those, of an outage, or of a held or cancelled job
  JobId num_found_ = 0;  // so many jobs had arrived where a run from a snapshot began
  bool may_hold_ = false;       // jobs may be held, or are cancelled by their users
  bool has_extras_ = false;     // or there are outages
  bool has_held_ = false;       // a job was held from outside
  bool has_changed_ = false;  // of the present instant, from outside
  bool is_anew_ = false;  // a new scheduler decides, without history
  bool is_timer_ = false;    // and nothing else happened
  bool is_idle_ = false;  // nothing ran before the present instant
  bool has_other_gpus_ = false;
  std::vector<JobId> finished_;
  std::vector<JobId> arrived_;
  std::uint64_t num_finished_ = 0;
  std::uint64_t num_rejected_ = 0;
  Counters counters_;
  std::optional<WindowPlacement> windows_;  // the placement, where maintenance is known ahead
};

}  // namespace gpusched
