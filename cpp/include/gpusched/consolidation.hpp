#pragma once

#include "gpusched/allocation.hpp"
#include "gpusched/scheduler.hpp"

namespace gpusched {

/// Brings gangs together that had to be spread: schedulers that count GPUs by type do not see when
/// a server has become free that holds a whole gang.
class Consolidation {
 public:
  void begin(const Setup& setup) { placement_ = &setup.placement; }

  /// Whether the job runs on GPUs of one type, on more servers than it needs.
  [[nodiscard]] static bool is_spread(const State& state, JobId job);
  /// Moves such a job, at its present width, if the run's placement now finds fewer servers for
  /// it among the free GPUs and its own. Not at the instant of its start.
  bool move(const State& state, JobId job, Actions& actions);

 private:
  Placement* placement_ = nullptr;
  Allocation allocation_;
};

}  // namespace gpusched
