#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "seams/scheduler.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {

[[noreturn]] inline void fail_second_run() {
  throw InvalidInput("one instance of a Python scheduler serves one run at a time");
}

/// A Scheduler written in Python: `decide(state, finished, arrived, actions)`.
class PyScheduler final : public Scheduler, public py::trampoline_self_life_support {
 public:
  void begin(const Setup& setup) override {
    if (state_.view && state_.view->is_open()) fail_second_run();
    const State& state = setup.state;
    state_ = Shown(std::make_shared<StateView>(state.run_id(), setup.seed, &setup.placement));
    actions_ = Shown(std::make_shared<ActionsView>(setup));
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "begin");
    if (override) {
      const Shown<StateView> shown = state_;
      const Loan loan(*shown.view, state);
      override(shown.object);
    }
  }

  /// Continues a fork of a run with a copy of its scheduler.
  void join(const Setup& setup, const std::vector<JobId>& active) {
    if (state_.view) fail_second_run();
    const std::uint64_t run = setup.state.run_id();
    state_ = Shown(std::make_shared<StateView>(run, setup.seed, &setup.placement));
    state_.view->update({{}, active, false});
    actions_ = Shown(std::make_shared<ActionsView>(setup));
  }

  /// The state of a Python scheduler is its author's concern.
  [[nodiscard]] bool adopt(const State& state) override {
    std::vector<JobId> running;
    state.for_each_running([&](const Slot& run) { running.push_back(run.job); });
    std::sort(running.begin(), running.end());
    state_.view->update({{}, running, false});
    return true;
  }

  [[nodiscard]] bool takes_outages() const override {
    const py::gil_scoped_acquire locked;
    const py::object self = py::cast(static_cast<const Scheduler*>(this));
    return py::bool_(py::getattr(self, "takes_outages", py::bool_(false)));
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    // Copied: the call may begin another run, and by that be refused.
    const Shown<StateView> shown = state_;
    const Shown<ActionsView> acting = actions_;
    if (shown.view->run_id() != state.run_id()) fail_second_run();
    shown.view->update(instant);
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "decide");
    if (!override) throw py::type_error("scheduler: decide is missing");
    const Loan state_loan(*shown.view, state);
    const Loan actions_loan(*acting.view, actions);
    override(shown.object, job_array(instant.finished), job_array(instant.arrived), acting.object);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    const py::gil_scoped_acquire locked;
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "withdraw");
    if (!override) return false;
    const py::object answer = override(job);
    if (!py::isinstance<py::bool_>(answer)) {
      throw py::type_error(
          "scheduler: withdraw must return a bool (whether it removed the job), not " +
          py::repr(answer).cast<std::string>());
    }
    if (!answer.cast<bool>()) return false;
    state_.view->update({{&job, 1}, {}, false});
    return true;
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    const py::gil_scoped_acquire locked;
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "warnings");
    if (!override) return {};
    const py::object texts = override();
    try {
      return texts.cast<std::vector<std::string>>();
    } catch (const py::cast_error&) {
      throw py::type_error("scheduler: warnings must return a list of str");
    }
  }

 private:
  Shown<StateView> state_;
  Shown<ActionsView> actions_;
};

}  // namespace gpusched::bindings
