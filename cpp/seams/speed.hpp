#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/flags.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "model/allocation.hpp"
#include "model/cluster.hpp"
#include "model/job_classes.hpp"
#include "model/job_table.hpp"
#include "model/network.hpp"
#include "seams/speed_columns.hpp"

namespace gpusched {

/// A job on a shared link.
struct Sharer {
  JobId job;
  std::uint32_t slot;  ///< of the job
  std::uint32_t stay;  ///< which of the job's places this is
};

/// A job's use of a link.
struct LinkShare {
  LinkId link;
  std::int32_t gpus;   ///< of the job, behind the link
  double bytes_per_s;  ///< for all of them
  /// All jobs on the link, including this one, in arbitrary order. Empty if no rate depends on
  /// others.
  std::span<const Sharer> guests = {};
};

/// A job on its GPUs.
struct PlacedGang {
  JobId job;
  std::span<const Piece> pieces;
  /// The worker on each GPU, in the order of the pieces; empty: in order.
  std::span<const std::int32_t> ranks;
  /// In the order of RingLinks; empty on one server.
  std::span<const LinkShare> shares;
};

/// Seconds per iteration that a job can meet on a cluster that is otherwise empty.
struct IterationLimits {
  double low;  ///< a lower bound, whatever the placement
  double min;  ///< where a good placement puts it
  double max;  ///< with every worker on a server of its own, and no more of its card than that
};

/// A performance model: the time of an iteration, given the placement of the job's workers and the
/// bandwidth of their links. A job's service is its run time at the lowest iteration time possible
/// on the empty cluster; elsewhere it progresses at the ratio of the two.
class Speed : public Flagged {
 public:
  virtual ~Speed() = default;

  /// Whether a job runs for its service wherever it is, so that nothing need be computed.
  [[nodiscard]] bool is_fixed() const noexcept { return has(Flag::steady); }

  /// Sets its registration, which outlives it.
  void describe(const PluginInfo& info) noexcept { info_ = &info; }

  /// Before a run; the arguments outlive it. Throws InvalidInput that names what the jobs or the
  /// cluster lack.
  void begin(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) {
    if (info_ != nullptr) require_columns(*info_, jobs, cluster);
    start(jobs, cluster, classes);
  }

  /// Least seconds per iteration on the empty cluster; the job has a class.
  [[nodiscard]] virtual double ideal_s(JobId job) const = 0;

  /// Whether jobs may run at other widths than their own.
  [[nodiscard]] bool is_elastic() const noexcept { return has(Flag::elastic); }

  /// Whether a job on GPUs of several types benefits from each; otherwise it is as fast as if all
  /// were of the slowest.
  [[nodiscard]] virtual bool adds_types() const { return false; }

  /// Whether iterations wait for links of the network; if not, none are looked up. A speed that can
  /// depend on links decides for the current jobs.
  [[nodiscard]] virtual bool uses_links() const { return !has(Flag::linkless); }

  /// Whether the job can run at its own width on the empty cluster; if not it is rejected.
  [[nodiscard]] virtual bool can_run(JobId /*job*/) const { return true; }

  /// Seconds per iteration on this many GPUs of one type of the cluster, on as few servers as
  /// possible; infinity if it cannot run so. Only called for elastic speeds.
  [[nodiscard]] virtual double uniform_s(JobId /*job*/, int /*type*/, int /*gpus*/) const {
    return kInfinity;
  }

  /// A lower bound on the seconds per iteration on this many GPUs of any types that the job may
  /// use. Only called for elastic speeds.
  [[nodiscard]] virtual double bound_s(JobId /*job*/, int /*gpus*/) const { return kInfinity; }
  /// The greatest width at which the job can run.
  [[nodiscard]] virtual int widest(JobId /*job*/) const { return 0; }

  /// `low` is `ideal_s`.
  [[nodiscard]] virtual IterationLimits limits(JobId job) const = 0;

  /// Seconds per iteration, at the job's own width never below `ideal_s`; infinity if it cannot run
  /// so.
  [[nodiscard]] virtual double iteration_s(const PlacedGang& gang) const = 0;

 private:
  /// `begin`, after checking that the registered columns exist and fit the cluster.
  virtual void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) = 0;

  const PluginInfo* info_ = nullptr;
};

/// The shares of a job that owns of each link the share of the GPUs behind it that it holds.
void reserved_shares(const Network& network, std::span<const Crossing> crossings,
                     std::vector<LinkShare>& out);

/// The lowest outbound bandwidth that one GPU of an allowed server has for itself, links divided
/// among all GPUs behind them; bytes per second.
[[nodiscard]] double least_reserved_bandwidth(const Cluster& cluster, TypeMask types);

/// Throws InvalidInput unless every server has both bandwidths.
void require_bandwidths(const char* speed, const Cluster& cluster);

}  // namespace gpusched
