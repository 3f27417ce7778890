#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/run_control.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// What is left of filling a cluster: of each arrival whether it was placed, and the thousandths
/// of free GPUs that are fragmented after it; and the pieces that the placed ones hold, a row for
/// each in the order of the arrivals.
struct Filling {
  std::vector<std::uint8_t> is_placed;
  std::vector<double> fragmented_milli;
  std::vector<std::int64_t> piece_arrival;
  std::vector<ServerId> piece_server;
  std::vector<GpuMask> piece_mask;
};

/// Lets requests arrive one by one on an empty cluster. Each is placed at once or lost; nothing
/// ever leaves. `arrivals` are rows of `requests`, in any number and order: the k-th arrival of a
/// row is keyed to the placement's random draws like a job that was preempted k times. Fragments
/// are counted by how often each kind of request stands in the table, see Fragmentation.
///
/// Throws InvalidInput if an arrival is no row of the table, the placement knows no servers, or it
/// does not know demands and the requests have some; InvariantError if it names GPUs that the
/// request cannot have; Stopped.
[[nodiscard]] Filling fill(const JobTable& requests, std::span<const std::int64_t> arrivals,
                           const Cluster& cluster, Placement& placement, std::uint64_t seed,
                           RunControl& control);

}  // namespace gpusched
