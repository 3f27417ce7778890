#pragma once

#include <cstdint>
#include <span>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/demand.hpp"

namespace gpusched {

/// Where a run begins that does not begin with an empty cluster: jobs run already, and others have
/// waited. The jobs of the table that were submitted by `now` have arrived; the others are to come.
struct Snapshot {
  Time now{0};
  /// The first decision, at `now` or later; what happens before is the first one.
  Time first{0};
  /// The policy has decided nothing yet, so that it need not know what it would have kept. No job
  /// runs.
  bool is_anew = false;
  /// Service so far of each arrived job. A job that has had all its service is about to end.
  std::span<const std::int64_t> attained_us;
  /// When its present run began, by `now`; -1 where it waits.
  std::span<const std::int64_t> start_us;
  /// The restart cost at the head of that run.
  std::span<const std::int64_t> cost_us;
  std::span<const std::int32_t> preemptions;
  /// Work added to the service of each; -1: the amount of the policy's restart rule at the arrival
  /// and this many preemptions.
  std::span<const std::int64_t> added_us;
  /// The allocations: a row for each job and server, by job, then by server. Below 0: withheld for
  /// good.
  std::span<const std::int64_t> held_job;
  std::span<const std::int64_t> held_server;
  std::span<const GpuMask> held_mask;
};

}  // namespace gpusched
