#pragma once

#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "base/run_control.hpp"
#include "model/job_classes.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Which jobs can never run. A job is judged by the whole cluster, empty: what is held or withheld at
/// present may be free again.
class Feasibility {
 public:
  explicit Feasibility(const State& state) : state_(state) {}

  /// Call before the run, while the cluster is empty; begins the placement. Throws InvalidInput if
  /// the placement, the scheduler or the speed does not support the jobs.
  void begin(Placement& placement, std::uint64_t seed, const Scheduler& scheduler,
             const RunControl& control);
  /// Judges for this scheduler from now on, during the run. If it throws, as `begin` does, nothing
  /// changes.
  void follow(Placement& placement, const Scheduler& scheduler, const RunControl& control);

  /// Why the job can never run; `none` if it can.
  [[nodiscard]] RejectReason judge(JobId job) const {
    const ClassId id = state_->classes().of(job);
    if (id == JobClasses::kNoClass) return state_->classes().reject_reason(job);
    if (asks_placement_ && refused_[id]) return RejectReason::refused_when_empty;
    if (state_->has_progress() && !state_->speed().can_run(job)) {
      return RejectReason::no_configuration;
    }
    return RejectReason::none;
  }

 private:
  void check_demands(const Placement& placement, const Scheduler& scheduler) const;
  void check_parts(const Placement& placement, const Scheduler& scheduler) const;
  void check_gpus_per_node(const Placement& placement, const Scheduler& scheduler) const;
  void ask(Placement& placement, const Occupancy& empty, const RunControl& control);

  Ref<const State> state_;
  bool asks_placement_ = false;  // where GPUs are not chosen by the scheduler, nor a mere number
  std::vector<bool> refused_;    // of each class, by the placement, once it has been asked
};

}  // namespace gpusched
