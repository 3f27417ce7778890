#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Machines that no schedule overloads: the cluster, or one on which some jobs count for more. All
/// share the steps of their prices.
struct PricedMachines {
  /// How much of each machine a job takes while it runs, machine after machine; 0: it is not there.
  std::span<const std::int32_t> widths;
  /// Step i holds from `edge_us[i]` to before `edge_us[i + 1]`; from the last edge on all is free.
  std::span<const std::int64_t> edge_us;
  /// Price of a unit of width for a microsecond, by step, machine after machine.
  std::span<const double> price;
};

/// The times of jobs that pay for held GPUs at time-dependent prices.
struct PricedTimes {
  /// Sum over the jobs of (completion - submit) in microseconds, plus what they pay.
  double cost = 0.0;
  /// Width times microseconds held within each step, machine after machine.
  std::vector<double> held;
};

/// Each job alone chooses when to run, and may be preempted at will, so that its time in system plus
/// what it pays is least: the Lagrangian of the time-indexed program. The sum over the jobs, less
/// what all machines would pay for all of their width over all steps, is a lower bound on the time
/// in system of all jobs, whatever the prices.
///
/// Jobs are sorted by submit, none before the first edge. std::invalid_argument if lengths differ,
/// edges do not increase, a price is negative or no number, or a job is none. A job costs the steps
/// that it looks at, times the logarithm of their number.
[[nodiscard]] PricedTimes priced_times(std::span<const std::int64_t> submit_us,
                                       std::span<const std::int64_t> service_us,
                                       const PricedMachines& machines);

}  // namespace gpusched
