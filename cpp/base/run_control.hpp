#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <stdexcept>

#include "base/check.hpp"

namespace gpusched {

/// The run was stopped through its RunControl.
class Stopped : public std::runtime_error, public LeavesSchedule {
 public:
  using std::runtime_error::runtime_error;
};

/// Called regularly by the thread of a run, so that a caller that waits for it needs no other
/// thread.
class Watch {
 public:
  virtual ~Watch() = default;
  /// Throws to end the run. Returns how many checks later it is to be called again, at least 1.
  virtual std::uint32_t look() = 0;
};

/// Shared with other threads: a request to stop, and how far the run is.
struct RunControl {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> num_finished{0};
  /// Set before the run; may be null.
  std::unique_ptr<Watch> watch;

  /// Throws Stopped after a stop was requested. Cheap: the engine calls it at each instant, and a
  /// scheduler in each loop over a whole queue. Only for the thread of the run.
  void check() const {
    if (watch != nullptr && --checks_left_ == 0) {
      checks_left_ = 1;  // the next time, if this one throws
      checks_left_ = watch->look();
    }
    if (stop.load(std::memory_order_relaxed)) throw Stopped("the run was stopped");
  }

 private:
  mutable std::uint32_t checks_left_ = 1;
};

}  // namespace gpusched
