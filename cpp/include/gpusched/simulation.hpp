#pragma once

#include <cstdint>
#include <vector>

#include "gpusched/actions.hpp"
#include "gpusched/cluster.hpp"
#include "gpusched/job_table.hpp"
#include "gpusched/placement.hpp"
#include "gpusched/run_control.hpp"
#include "gpusched/schedule.hpp"
#include "gpusched/scheduler.hpp"
#include "gpusched/state.hpp"

namespace gpusched {

/// Replays the jobs on the cluster: one instant after the other, finishes before arrivals before
/// timers, then one decision of the scheduler.
class Simulation {
 public:
  /// All arguments outlive the simulation.
  Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
             Placement& placement, std::uint64_t seed, RunControl& control);

  /// Handles the next instant; false when there is none.
  bool step();
  /// Runs to the end. Throws Stopped at the first instant after a stop was asked for.
  void run();
  /// Ends the simulation, whether all jobs are done or not.
  [[nodiscard]] Schedule finish();

  [[nodiscard]] const State& state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t num_finished() const noexcept { return num_finished_; }

 private:
  void apply_finishes();
  void apply_arrivals();

  State state_;
  Scheduler& scheduler_;
  RunControl& control_;
  Actions actions_;
  std::vector<bool> refused_classes_;
  std::vector<JobId> finished_;
  std::vector<JobId> arrived_;
  std::uint64_t num_finished_ = 0;
  Counters counters_;
};

}  // namespace gpusched
