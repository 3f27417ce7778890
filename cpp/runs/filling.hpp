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

/// The result of filling a cluster: for each arrival whether it was placed, and the fragmented
/// thousandths of free GPUs after it; and the pieces of the placed ones, a row for each in the
/// order of the arrivals.
/// each in the order of the arrivals.
struct Filling {
  std::vector<std::uint8_t> is_placed;
  std::vector<double> fragmented_milli;
  std::vector<std::int64_t> piece_arrival;
  std::vector<ServerId> piece_server;
  std::vector<GpuMask> piece_mask;
};

/// Places requests one by one on an empty cluster. Each is placed at once or lost; nothing ever
/// leaves. `arrivals` are rows of `requests`, in any number and order: the k-th arrival of a row
/// draws the placement's random numbers like a job that was preempted k times. Fragments are
/// weighted by the frequency of each kind of request in the table, see Fragmentation.
///
/// Throws InvalidInput if an arrival is not a row of the table, or the placement does not support
/// servers or the requests' demands; InvariantError if it returns GPUs that the request cannot
/// have; Stopped.
[[nodiscard]] Filling fill(const JobTable& requests, std::span<const std::int64_t> arrivals,
                           const Cluster& cluster, Placement& placement, std::uint64_t seed,
                           RunControl& control);

}  // namespace gpusched
