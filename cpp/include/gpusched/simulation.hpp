#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "gpusched/actions.hpp"
#include "gpusched/cluster.hpp"
#include "gpusched/job_table.hpp"
#include "gpusched/placement.hpp"
#include "gpusched/schedule.hpp"
#include "gpusched/scheduler.hpp"
#include "gpusched/state.hpp"

namespace gpusched {

/// Shared with other threads: a request to stop, and how far the run is.
struct RunControl {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> num_finished{0};
};

/// The run was stopped through its RunControl.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Replays the jobs on the cluster: one instant after the other, finishes before arrivals before
/// timers, then one decision of the scheduler.
class Simulation {
 public:
  /// All arguments outlive the simulation.
  Simulation(const JobTable& jobs, const Cluster& cluster, Scheduler& scheduler,
             Placement& placement, std::uint64_t seed);

  /// Handles the next instant; false when there is none.
  bool step();
  /// Runs to the end. Throws Stopped within 4,096 instants of `control.stop`.
  void run(RunControl& control);
  /// Ends the simulation, whether all jobs are done or not.
  [[nodiscard]] Schedule finish();

  [[nodiscard]] const State& state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t num_finished() const noexcept { return num_finished_; }

 private:
  void apply_finishes();
  void apply_arrivals();

  State state_;
  Scheduler& scheduler_;
  Actions actions_;
  std::vector<bool> refused_classes_;
  std::vector<JobId> finished_;
  std::vector<JobId> arrived_;
  std::uint64_t num_finished_ = 0;
  Counters counters_;
};

}  // namespace gpusched
