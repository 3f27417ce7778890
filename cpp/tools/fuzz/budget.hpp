#pragma once

#include <cstdint>
#include <memory>

#include "base/run_control.hpp"

namespace gpusched {

/// Ends a run after a number of checks: a long input reveals no more than a short one.
class Budget : public Watch {
 public:
  explicit Budget(std::uint32_t num_checks) : num_checks_(num_checks) {}

  std::uint32_t look() override {
    if (is_spent_) throw Stopped("the budget is spent");
    is_spent_ = true;
    return num_checks_;
  }

 private:
  std::uint32_t num_checks_;
  bool is_spent_ = false;
};

inline void limit(RunControl& control, std::uint32_t num_checks) {
  control.watch = std::make_unique<Budget>(num_checks);
}

}  // namespace gpusched
