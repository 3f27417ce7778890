#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <utility>

#include "base/run_control.hpp"

namespace gpusched::bindings {

/// Handles signals in the thread of a run, and calls into Python, about ten times a second: with
/// or without the GIL, and without a thread that waits. Made, changed and freed with the GIL.
class RunWatch final : public Watch {
 public:
  /// `look` is None or can be called; what it raises ends the run.
  explicit RunWatch(pybind11::object look) : look_(std::move(look)) {}

  /// Replaces the callback. The thread of the run may be executing the old one.
  void call(pybind11::object look) { std::swap(look_, look); }

  std::uint32_t look() override {
    const Clock::time_point now = Clock::now();
    // The clock is read once per `stride_` checks; if checks take long, at each of them.
    stride_ = now - read_ < kShort ? std::min(2 * stride_, kLongestStride) : 1;
    read_ = now;
    if (now - looked_ < kPause) return stride_;
    {
      const pybind11::gil_scoped_acquire locked;
      if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
      const pybind11::object called = look_;  // which it may change
      if (!called.is_none()) called();
    }
    looked_ = read_ = Clock::now();
    return stride_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{100};
  static constexpr std::chrono::microseconds kShort{100};
  static constexpr std::uint32_t kLongestStride = 16;

  pybind11::object look_;
  std::uint32_t stride_ = 1;
  Clock::time_point looked_ = Clock::now();
  Clock::time_point read_ = looked_;
};

}  // namespace gpusched::bindings
