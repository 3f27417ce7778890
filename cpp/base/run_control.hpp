#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

namespace gpusched {

/// The run was stopped through its RunControl.
class Stopped : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Shared with other threads: a request to stop, and how far the run is.
struct RunControl {
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> num_finished{0};

  /// Throws Stopped once a stop was asked for. A load that costs nothing: the engine asks at
  /// each instant, and a scheduler in each loop over a whole queue.
  void check() const {
    if (stop.load(std::memory_order_relaxed)) throw Stopped("the run was stopped");
  }
};

}  // namespace gpusched
