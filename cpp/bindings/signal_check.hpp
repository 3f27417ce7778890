#pragma once

#include <pybind11/pybind11.h>

#include <chrono>

#include "base/stop_check.hpp"

namespace gpusched::bindings {

/// Ends a computation in the main thread on Ctrl-C, by whatever its handler raises. Looks up some
/// twenty times a second, with or without the GIL: cheaper than a thread that waits.
class SignalCheck final : public StopCheck {
 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kPause{50};

  void look() override {
    const Clock::time_point now = Clock::now();
    if (now - last_ < kPause) return;
    last_ = now;
    const pybind11::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw pybind11::error_already_set();
  }

  Clock::time_point last_ = Clock::now();
};

/// Ends native work that a policy written in Python called, with the GIL, once its run is to stop:
/// other threads get a chance to say so.
class YieldingCheck final : public StopCheck {
 public:
  explicit YieldingCheck(const RunControl& control) : control_(control) {}

 private:
  void look() override {
    {
      const pybind11::gil_scoped_release unlocked;
    }
    control_.check();
  }

  const RunControl& control_;
};

/// A solver asks as long as this lives.
template <class Solver>
class Listening {
 public:
  Listening(Solver& solver, StopCheck& stop) : solver_(solver) { solver_.listen_to(&stop); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;
  ~Listening() { solver_.listen_to(nullptr); }

 private:
  Solver& solver_;
};

}  // namespace gpusched::bindings
