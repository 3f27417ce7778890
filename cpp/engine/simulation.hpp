#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/run_control.hpp"
#include "engine/livelock.hpp"
#include "engine/progress.hpp"
#include "engine/schedule.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "seams/actions.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Replays the jobs on the cluster: one instant after the other, finishes before arrivals before
/// timers, then one decision of the scheduler.
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
             Placement& placement, const Pacing& pacing, std::uint64_t seed,
             RunControl& control);

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
  void check_demands(const Placement& placement) const;
  void apply_finishes();
  void apply_arrivals();
  [[noreturn]] void fail_at_the_end_of_time(Time finish);

  State state_;
  Progress progress_;
  Scheduler& scheduler_;
  RunControl& control_;
  Actions actions_;
  Livelock livelock_;
  std::vector<bool> refused_classes_;
  std::vector<JobId> finished_;
  std::vector<JobId> arrived_;
  std::uint64_t num_finished_ = 0;
  Counters counters_;
};

}  // namespace gpusched
