#pragma once

#include <span>
#include <vector>

#include "base/clone.hpp"
#include "model/allocation.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Moves spread jobs back together: schedulers that count GPUs by type do not notice that a server
/// now fits the whole job.
class Consolidation {
 public:
  void begin(const Setup& setup) { placement_ = &setup.placement; }

  /// Whether the job runs on GPUs of one type, on more servers than it needs.
  [[nodiscard]] static bool is_spread(const State& state, JobId job);
  /// Moves such jobs together, at their present widths, if the run's placement finds fewer servers
  /// for each of them among the free GPUs and those that they hold; the widest is placed first.
  /// False, and nothing is changed, if it does not. Not at the instant of a job's start.
  bool move(const State& state, std::span<const JobId> jobs, Actions& actions);

 private:
  struct Move {
    JobId job;
    int gpus;
    Allocation to;
  };

  Ref<Placement> placement_;
  std::vector<Move> moves_;
};

}  // namespace gpusched
