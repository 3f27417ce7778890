#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/run_control.hpp"
#include "engine/executor.hpp"
#include "engine/feasibility.hpp"
#include "engine/finish_queue.hpp"
#include "engine/interval_log.hpp"
#include "engine/livelock.hpp"
#include "engine/progress.hpp"
#include "engine/run_state.hpp"
#include "engine/schedule.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Replays the jobs on the cluster, one instant after the other. At each, what happens is applied in
/// one order, by index within a kind: finishes, failures, repairs (no server fails today), arrivals,
/// timers. Then the scheduler is shown what finished and arrived and whether GPUs were released, and
/// decides once.
class Simulation {
 public:
  /// How long jobs take. `verify`: after each instant compute all rates anew and compare.
  struct Pacing {
    Speed& speed;
    const Contention& contention;
    bool verify = false;
  };

  /// All arguments outlive the simulation.
  Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
             Placement& placement, const Pacing& pacing, std::uint64_t seed, RunControl& control);

  /// Handles the next instant if it lies before `limit`; false when there is none.
  bool step(Time limit = kNever);
  /// Runs to the end. Throws Stopped at the first instant after a stop was asked for.
  void run();
  /// Ends the simulation, whether all jobs are done or not.
  [[nodiscard]] Schedule finish();

  [[nodiscard]] const State& state() const noexcept { return state_; }
  /// The jobs that finished at the present instant.
  [[nodiscard]] std::span<const JobId> finished() const noexcept { return finished_; }
  [[nodiscard]] std::uint64_t num_finished() const noexcept { return num_finished_; }

 private:
  void apply_finishes();
  void apply_arrivals();
  [[nodiscard]] Time next_arrival() const;
  [[noreturn]] void fail_at_the_end_of_time(Time finish);

  RunState state_;
  Progress progress_;
  FinishQueue finishes_{state_};
  IntervalLog log_;
  Scheduler& scheduler_;
  RunControl& control_;
  Executor executor_;
  Feasibility feasibility_{state_};
  Livelock livelock_;
  std::vector<JobId> finished_;
  std::vector<JobId> arrived_;
  std::uint64_t num_finished_ = 0;
  Counters counters_;
};

}  // namespace gpusched
