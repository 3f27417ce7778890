#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"
#include "seams/actions.hpp"
#include "seams/placement.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Makes room for a job that is refused although enough GPUs are free: the servers whose jobs have
/// the fewest GPUs are cleared, and these jobs go on elsewhere at once. Their GPUs times their
/// restart costs must be no more than the GPUs of the refused job times its wait.
class Defragmentation {
 public:
  /// Call before each decision.
  void begin_decision() noexcept {
    has_failed_ = false;
    retry_ = kNever;
  }
  /// Starts the refused job if room for it can be made, and returns whether it has. After the first
  /// failure of a decision nothing is tried.
  bool start(const State& state, Placement& placement, JobId job, Actions& actions);
  /// When it would be worth its price for the job that failed in this decision; kNever if never.
  [[nodiscard]] Time retry() const noexcept { return retry_; }

 private:
  bool has_failed_ = false;
  Time retry_ = kNever;
};

}  // namespace gpusched
