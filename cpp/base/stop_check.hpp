#pragma once

#include <cstddef>

#include "base/clone.hpp"
#include "base/run_control.hpp"

namespace gpusched {

/// Lets a long computation be stopped from outside: it says how much it has done, and is ended by
/// an exception where it is to end. Costs an addition each time.
class StopCheck {
 public:
  virtual ~StopCheck() = default;

  /// Adds steps of a loop since the last call.
  void count(std::size_t steps) {
    steps_ += steps;
    if (steps_ < kMostSteps) return;
    steps_ = 0;
    look();
  }

 private:
  static constexpr std::size_t kMostSteps = std::size_t{1} << 20;  // a few milliseconds

  /// Throws to end the computation.
  virtual void look() = 0;

  std::size_t steps_ = 0;
};

/// Ends the loop after a stop was requested.
class ControlCheck final : public StopCheck {
 public:
  explicit ControlCheck(const RunControl& control) : control_(control) {}

 private:
  void look() override { control_->check(); }

  Ref<const RunControl> control_;
};

}  // namespace gpusched
