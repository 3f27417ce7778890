#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/run_control.hpp"
#include "deadlines/cost_bounds.hpp"
#include "deadlines/planner.hpp"

namespace gpusched {

/// Jobs with deadlines, without a simulation: columns of one length, sorted by arrival.
struct DeadlineJobs {
  std::span<const std::int64_t> arrival_us;
  std::span<const std::int64_t> deadline_us;
  std::span<const double> work;  ///< ticks of service
  std::span<const double> value;
  std::span<const std::int64_t> change_us;
  /// Job j has the configurations [first[j], first[j + 1]).
  std::span<const std::int64_t> first;
  std::vector<PlanConfiguration> configurations;

  [[nodiscard]] std::size_t size() const noexcept { return arrival_us.size(); }
  [[nodiscard]] PlanQuery query(std::size_t job) const noexcept;
};

/// The admission decisions, each made at the job's arrival and never changed.
struct DeadlinePlans {
  std::vector<PlanVerdict> verdicts;
  std::vector<double> costs;  ///< infinity where no plan was found
  std::vector<Scarcity> scarcities;
  /// Job j has the steps [first[j], first[j + 1]).
  std::vector<std::int64_t> first;
  std::vector<PlanStep> steps;
  double value = 0.0;           ///< of the jobs admitted
  /// At the prices when all jobs have been decided on, over the slots that some window has: what
  /// all GPUs cost, and that before the first job.
  double final_price_sum = 0.0;
  double initial_price_sum = 0.0;
  double payoff_sum = 0.0;      ///< of the jobs admitted, value - cost at their arrival
  /// No schedule of whole slots is worth more, however long the windows are. At least `value`.
  double upper_bound = 0.0;
  /// alpha' of the guarantee, and the greatest x that it was derived with (to hold: at most 1).
  double ratio = 1.0;
  double exponent = 0.0;
};

/// Decides on all jobs in the order of arrival, simultaneous ones by value per GPU time. `knows`:
/// the bounds of prices are those of all jobs from the start.
[[nodiscard]] DeadlinePlans plan_deadlines(const DeadlineJobs& jobs,
                                           std::span<const std::int64_t> type_gpus,
                                           const PlannerOptions& options, bool knows,
                                           RunControl& control);

/// The highest value per GPU and tick of a job; the order in which jobs are offered.
[[nodiscard]] double value_density(const PlanQuery& query) noexcept;

}  // namespace gpusched
