#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/run_control.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "solvers/gang_packer.hpp"

namespace gpusched {

/// How a policy binds jobs: packer, order and run-time estimate.
struct GangRule {
  Packing narrow;              ///< of jobs of up to `kappa` GPUs
  Packing wide;                ///< of larger ones
  std::int64_t kappa = 0;
  double inflation = 1.0;  ///< lambda: GPUs in the pool of Packing::balanced, per requested GPU
  double estimate_error = 1.0;  ///< u: an estimate is divided by it before it is bound
  bool is_by_width = false;  ///< small jobs first, ties by JobId; else by JobId

  [[nodiscard]] Packing packing(int gpus) const noexcept { return gpus <= kappa ? narrow : wide; }
  [[nodiscard]] Gang gang(const JobTable& jobs, JobId job) const noexcept {
    const double ticks = static_cast<double>(jobs.predicted(job).count()) / estimate_error;
    return {job, jobs.gpus(job), std::max(1.0, std::nearbyint(ticks)), jobs.types(job)};
  }
  /// The order in which jobs that are known at once are bound.
  void sort(const JobTable& jobs, std::vector<JobId>& ids) const;
};

/// A packer for the cluster. The draws of Packing::random are the counter-based generator's,
/// keyed by (seed, job, counter).
[[nodiscard]] GangPacker make_packer(const Cluster& cluster, std::uint64_t seed);

/// Every job bound to its GPUs. Job j has the shares [first[j], first[j + 1]).
struct GangPlan {
  double cap = 0.0;  ///< theta: whole ticks
  std::vector<std::int64_t> first;
  std::vector<GangShare> shares;
  std::vector<double> busy;  ///< U of every GPU in ticks, server by server
  std::int64_t num_tried = 0;
};

/// Binds all jobs, as if they came at one instant, under the tightest cap that bisection finds:
/// between the lower bound max(sum of gpus x load / GPUs, longest load) and the sum of all
/// loads, which always suffices, until the interval is narrower than `tolerance` of the lower
/// end, or a tick. Feasibility need not be monotone in the cap (a list schedule has anomalies):
/// `cap` is feasible, and what was tried just below it is not. Throws InvalidInput that names a
/// job wider than what it may run on.
[[nodiscard]] GangPlan plan_gangs(const JobTable& jobs, GangPacker& packer, const GangRule& rule,
                                  double tolerance, const RunControl& control);

/// The same under a given cap (infinity: none). If a job does not fit under it, the cap is raised
/// to the minimum that admits the job.
[[nodiscard]] GangPlan plan_gangs_under(double cap, const JobTable& jobs, GangPacker& packer,
                                        const GangRule& rule, const RunControl& control);

}  // namespace gpusched
