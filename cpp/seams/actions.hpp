#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/allocation.hpp"

namespace gpusched {

/// The policy's charge on top of the job's service and its own checkpoint and restart cost.
struct RestartRule {
  /// Added to the remaining service at the preemption, instead of held time at the resume.
  bool on_work = false;
  Time cost{0};
  Time wide_cost{0};
  int narrow_gpus = 8;
  /// Work that a job has beyond its service from its arrival.
  Time overrun{0};

  [[nodiscard]] Time extra(int gpus) const noexcept {
    return gpus > narrow_gpus ? wide_cost : cost;
  }
};

/// Turns of jobs at timers that the engine takes for waste, and ends the run for.
struct Waste {
  /// They lose more than this many times what they gain,
  static constexpr std::int64_t kMostLost = 1000;
  /// and so many rows of the log are still to come.
  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 24;
};

/// The actions of a scheduler on a run. Every call is checked; a violation is an InvariantError
/// that names the time and the job.
class Actions {
 public:
  virtual ~Actions() = default;

  /// A waiting job starts or resumes on free GPUs: all it requests.
  virtual void start(JobId job, const Allocation& allocation) = 0;
  /// A running job lets its GPUs go and waits again.
  virtual void preempt(JobId job) = 0;
  /// As `preempt`, but `restore` can take it back within the same decision; the end of the
  /// decision makes it final.
  virtual void suspend(JobId job) = 0;
  /// Undoes `suspend` if all the job's GPUs are still free; false if they are not.
  virtual bool restore(JobId job) = 0;
  /// A running or suspended job continues on other GPUs, some of which may be its own: it pays its
  /// restart cost and keeps its progress. A width other than its own needs an elastic speed.
  virtual void resize(JobId job, const Allocation& allocation) = 0;
  /// Asks for a decision at `at`, which must lie ahead. The earliest request of a decision
  /// counts, and only until the next decision.
  virtual void wake(Time at) = 0;
};

}  // namespace gpusched
