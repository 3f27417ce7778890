#include <pybind11/stl.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "bindings/bindings.hpp"
#include "bindings/columns.hpp"
#include "runs/policy.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"

namespace gpusched::bindings {
namespace {

/// Processor time of the thread: what else runs on its core does not count.
std::int64_t thread_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// A registered scheduler, and how long each of its decisions takes.
class TimedScheduler final : public Scheduler {
 public:
  TimedScheduler(const std::string& name, const Parameters::Values& values) {
    const auto* entry = Registry<Scheduler>::find(name);
    if (entry == nullptr) fail_input("policy: '" + name + "' is not a registered scheduler");
    inner_ = entry->make(entry->info.read("policy " + name, values));
    declare(entry->info.flags);
  }

  void begin(const Setup& setup) override {
    at_us_.clear();
    num_arrived_.clear();
    num_finished_.clear();
    decision_ns_.clear();
    inner_->begin(setup);
  }
  void decide(const State& state, const Instant& instant, Actions& actions) override {
    decision_ns_.push_back(decide_unlocked(state, instant, actions));
    at_us_.push_back(state.now().count());
    num_arrived_.push_back(static_cast<std::int32_t>(instant.arrived.size()));
    num_finished_.push_back(static_cast<std::int32_t>(instant.finished.size()));
  }
  [[nodiscard]] RestartRule restart_rule() const override { return inner_->restart_rule(); }
  [[nodiscard]] std::vector<Decision> decisions() const override { return inner_->decisions(); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return inner_->warnings(); }

  [[nodiscard]] py::typing::Dict<py::str, py::array> times() const {
    py::typing::Dict<py::str, py::array> columns;
    columns["at_us"] = column_of(std::vector(at_us_));
    columns["num_arrived"] = column_of(std::vector(num_arrived_));
    columns["num_finished"] = column_of(std::vector(num_finished_));
    columns["decision_ns"] = column_of(std::vector(decision_ns_));
    return columns;
  }

 private:
  /// Nanoseconds. Python defines its class, so the run holds the lock; a watcher of the run must
  /// not wait for it until the end.
  std::int64_t decide_unlocked(const State& state, const Instant& instant, Actions& actions) {
    const py::gil_scoped_release unlocked;
    const std::int64_t begin = thread_ns();
    inner_->decide(state, instant, actions);
    return thread_ns() - begin;
  }

  Owned<Scheduler> inner_;
  std::vector<std::int64_t> at_us_;
  std::vector<std::int32_t> num_arrived_;
  std::vector<std::int32_t> num_finished_;
  std::vector<std::int64_t> decision_ns_;
};

}  // namespace

void bind_timing(py::module_& m) {
  auto testing = m.attr("_testing").cast<py::module_>();
  py::class_<TimedScheduler, Scheduler, py::smart_holder>(
      testing, "TimedScheduler", "A registered scheduler as a policy that times its decisions.")
      .def(py::init<const std::string&, const Parameters::Values&>(), py::arg("name"),
           py::arg("values") = Parameters::Values{})
      .def("times", &TimedScheduler::times,
           "For each decision of the last run: its time, the number of jobs that arrived and\n"
           "finished at that instant, and the thread's processor time that it took.");
}

}  // namespace gpusched::bindings
