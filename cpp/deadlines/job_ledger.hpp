#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/run_control.hpp"
#include "deadlines/dancer_jobs.hpp"
#include "deadlines/job_set.hpp"
#include "deadlines/planner.hpp"
#include "seams/decision.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// The shared state of the parts of `dancer`: the active jobs, their promises, and the present
/// slot.
struct DancerLedger {
  using Index = std::uint32_t;  ///< of a job in `jobs`

  DancerLedger(const PlannerOptions& planner_options, Freedom freedom)
      : options(planner_options), sets(freedom) {}

  void begin(const Setup& setup);
  void turn_to(Time now);

  [[nodiscard]] Index take_in(const State& state, JobId job);
  /// One entry for each job: what was said of it last, or when it was turned down first.
  void log(const State& state, Index id, PlanVerdict verdict, double cost);
  void make_promise(Index id, std::span<const PlanStep> steps);
  /// A job that was turned down could still meet its deadline.
  void leave_open(Index id);
  /// Jobs have finished, or are taken back while they wait.
  void forget(std::span<const JobId> gone);
  /// Its deadline can no longer be met. The job has a promise or is in no list.
  void lose_hope(Index id, bool is_running);
  [[nodiscard]] bool has_jobs_to_plan() const noexcept {
    return !live.empty() || !open.empty() || !rest.empty() || !rest_running.empty();
  }

  PlannerOptions options;
  std::optional<DeadlinePlanner> planner;
  ConfigurationSets sets;
  Ref<const RunControl> control;

  std::vector<DancerJob> jobs;
  std::vector<Index> unused;
  std::vector<Index> index;     ///< of each job that has arrived and not finished
  // Each of these jobs is in one of the following.
  std::vector<Index> live;      ///< with promises
  /// Jobs that could still meet their deadlines: by density at the last boundary, then later
  /// arrivals.
  std::vector<Index> open;
  JobSet rest;                  ///< the others that wait, and those of them that run
  std::set<JobId> rest_running;
  std::set<JobId> several;      ///< that no single type runs, whether they run or wait
  std::int64_t slot = 0;        ///< the present one
  bool is_border = false;       ///< now is where it begins

  std::vector<Decision> decisions;
  std::int64_t num_broken = 0;

 private:
  [[nodiscard]] bool take_out(Index id);
  [[nodiscard]] std::size_t forget_live();

  std::vector<Index> gone_;  // with promises, while jobs are forgotten
  std::vector<std::uint8_t> is_gone_;  // by job in `jobs`
};

}  // namespace gpusched
