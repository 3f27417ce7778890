#pragma once

#include <cstdint>
#include <span>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/demand.hpp"

namespace gpusched {

/// Where a run begins that does not begin with an empty cluster: jobs run already, and others have
/// waited. The jobs of the table that were submitted by `now` have arrived; the others are to come.
struct Standing {
  Time now{0};
  /// One of each job of the table. Service so far, less than the service of the job.
  std::span<const std::int64_t> attained_us;
  /// When its present run began, by `now`; -1 where it waits.
  std::span<const std::int64_t> start_us;
  /// The restart cost at the head of that run.
  std::span<const std::int64_t> cost_us;
  std::span<const std::int32_t> preemptions;
  /// What is held: a row for each job and server, by job, then by server. Below 0: no job's, always.
  std::span<const std::int64_t> held_job;
  std::span<const std::int64_t> held_server;
  std::span<const GpuMask> held_mask;
};

}  // namespace gpusched
