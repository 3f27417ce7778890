#pragma once

#include <pybind11/stl.h>

#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "columns.hpp"
#include "gpusched/check.hpp"
#include "gpusched/order.hpp"
#include "gpusched/placement.hpp"
#include "gpusched/reallocation.hpp"
#include "gpusched/scheduler.hpp"

namespace gpusched::bindings {

/// The state as Python sees it. It points into a run only while a call of the seam is on its
/// way; afterwards every use is an error and not a dangling pointer.
class StateView {
 public:
  [[nodiscard]] const State& state() const {
    if (state_ == nullptr) throw InvalidInput("the view is valid only inside the call it came with");
    return *state_;
  }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] const std::vector<JobId>& active() const noexcept { return active_; }

  /// A whole trace column, copied once per run, read-only.
  template <class Value>
  py::array_t<Value> column(std::span<const Value> values, const char* name) {
    if (!columns_.contains(name)) {
      py::array_t<Value> copy(static_cast<py::ssize_t>(values.size()), values.data());
      copy.attr("setflags")(py::arg("write") = false);
      columns_[name] = copy;
    }
    return columns_[name].cast<py::array_t<Value>>();
  }

  /// The same, with one value for all where the trace lacks the column.
  template <class Value>
  py::array_t<Value> column_or(std::span<const Value> values, Value fallback, const char* name) {
    if (!values.empty()) return column(values, name);
    const std::vector<Value> same(state().jobs().num_jobs(), fallback);
    return column<Value>(same, name);
  }

  template <class Limit>
  py::array_t<std::int32_t> limit_column(const char* name, Limit limit) {
    if (columns_.contains(name)) return columns_[name].cast<py::array_t<std::int32_t>>();
    const auto most = static_cast<int>(state().cluster().num_gpus());
    std::vector<std::int32_t> widths(state().jobs().num_jobs());
    for (JobId job = 0; job < widths.size(); ++job) widths[job] = std::min(most, limit(state(), job));
    return column<std::int32_t>(widths, name);
  }

  Placement* placement = nullptr;
  Allocation allocation;

 private:
  friend class ViewGuard;
  friend class PyScheduler;

  const State* state_ = nullptr;
  std::uint64_t run_id_ = 0;
  std::uint64_t seed_ = 0;
  std::vector<JobId> active_;
  py::dict columns_;
};

/// Opens a view for the time of one call.
class ViewGuard {
 public:
  ViewGuard(StateView& view, const State& state, std::uint64_t seed) : view_(view) {
    if (view.state_ != nullptr) {
      throw InvalidInput("one instance of a Python order or scheduler serves one run at a time");
    }
    if (view.run_id_ != state.run_id()) {
      view.run_id_ = state.run_id();
      view.columns_ = py::dict();
    }
    view.state_ = &state;
    view.seed_ = seed;
  }
  ViewGuard(const ViewGuard&) = delete;
  ViewGuard& operator=(const ViewGuard&) = delete;
  ~ViewGuard() { view_.state_ = nullptr; }

 private:
  StateView& view_;
};

inline py::array_t<std::int64_t> job_array(std::span<const JobId> jobs) {
  py::array_t<std::int64_t> array(static_cast<py::ssize_t>(jobs.size()));
  std::copy(jobs.begin(), jobs.end(), array.mutable_data());
  return array;
}

using Keys = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// Doubles of what `rank` returned, null where it is no numbers; a TypeError or ValueError where
/// a cast would lose what it says.
inline Keys real_keys(const py::object& answer) {
  const py::array given = py::array::ensure(answer);
  if (!given) return py::reinterpret_steal<Keys>(py::handle());
  if (given.dtype().kind() == 'c') {
    throw py::type_error("order: rank must return real numbers, not " +
                         py::str(given.dtype()).cast<std::string>());
  }
  if (std::string_view("biufO").find(given.dtype().kind()) == std::string_view::npos) {
    return py::reinterpret_steal<Keys>(py::handle());  // digits in a text, dates
  }
  if (py::hasattr(answer, "mask") &&
      py::module_::import("numpy.ma").attr("is_masked")(answer).cast<bool>()) {
    throw py::value_error("order: rank must return a key for each job, none may be masked");
  }
  return Keys::ensure(answer);
}

/// An Order written in Python: `lifetime` is an attribute, `rank(view, jobs)` returns the keys.
class PyOrder final : public Order, public py::trampoline_self_life_support {
 public:
  [[nodiscard]] KeyLifetime lifetime() const override {
    const auto text = py::str(self().attr("lifetime")).cast<std::string>();
    if (text == "fixed") return KeyLifetime::fixed;
    if (text == "service") return KeyLifetime::service;
    if (text == "clock") return KeyLifetime::clock;
    fail_input("order: lifetime is '" + text + "'; allowed: fixed service clock");
  }

  [[nodiscard]] bool remembers() const override { return true; }

  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    if (!view_object_) view_object_ = py::cast(&view_, py::return_value_policy::reference);
    const ViewGuard guard(view_, view.state(), view.seed());
    const py::function override = py::get_override(static_cast<const Order*>(this), "rank");
    if (!override) throw py::type_error("order: rank(view, jobs) is missing");
    const py::object answer = override(view_object_, job_array(jobs));
    const auto keys = real_keys(answer);
    if (!keys || keys.ndim() != 1 || static_cast<std::size_t>(keys.size()) != jobs.size()) {
      PyErr_Clear();
      throw py::value_error("order: rank must return one number per job: " +
                            std::to_string(jobs.size()));
    }
    const double* data = keys.data();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (!std::isfinite(data[i])) {
        throw py::value_error("order: the key of job " + std::to_string(jobs[i]) +
                              " is not finite");
      }
      key[i] = data[i];
    }
  }

 private:
  [[nodiscard]] py::object self() const {
    return py::cast(static_cast<const Order*>(this), py::return_value_policy::reference);
  }

  StateView view_;
  py::object view_object_;
};

/// Free GPUs as Python sees them, valid inside one call.
struct FreeView {
  explicit FreeView(const Occupancy* occupancy) : free(occupancy) {}

  const Occupancy* free;

  [[nodiscard]] const Occupancy& get() const {
    if (free == nullptr) throw InvalidInput("the view is valid only inside the call it came with");
    return *free;
  }
};

/// A Placement written in Python: `place(free, request)` returns [(server, mask), ...] or None.
class PyPlacement final : public Placement, public py::trampoline_self_life_support {
 public:
  void begin(const PlacementSetup& setup) override {
    const py::function override = py::get_override(static_cast<const Placement*>(this), "begin");
    if (override) override(setup.seed);
  }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    const py::function override = py::get_override(static_cast<const Placement*>(this), "place");
    if (!override) throw py::type_error("placement: place(free, request) is missing");
    // A view of its own for each call: several runs may share one placement.
    const auto view = std::make_shared<FreeView>(&free);
    const struct Close {
      FreeView& view;
      ~Close() { view.free = nullptr; }
    } close{*view};
    const py::object answer = override(view, request);
    if (answer.is_none()) return false;
    out.reset(request.gpus);
    try {
      for (const auto& [server, mask] :
           answer.cast<std::vector<std::pair<ServerId, GpuMask>>>()) {
        out.pieces.push_back({server, mask});
      }
    } catch (const py::cast_error&) {
      throw py::type_error("placement: place must return [(server, mask), ...] or None, not " +
                           py::repr(answer).cast<std::string>());
    }
    return true;
  }

  // What a Python placement names may depend on anything.
  [[nodiscard]] bool names_depend_on_job() const override { return true; }
};

/// Actions as Python sees them, valid inside one call.
struct ActionsView {
  Actions* actions = nullptr;
  const State* state = nullptr;
  Reallocation reallocation;

  std::vector<JobId> reallocate(
      const std::vector<std::pair<JobId, std::vector<Part>>>& targets) {
    Actions& acts = get();
    const struct Clear {
      Reallocation& list;
      ~Clear() { list.clear(); }
    } clear{reallocation};
    for (const auto& [job, parts] : targets) {
      if (job >= state->num_arrived()) {
        throw py::index_error("job " + std::to_string(job) + " has not arrived");
      }
      for (const Part& part : parts) {
        if (part.type >= 0 && part.type < state->cluster().num_types()) continue;
        throw py::value_error("job " + std::to_string(job) + ": GPU type " +
                              std::to_string(part.type) + " does not exist; the cluster has " +
                              std::to_string(state->cluster().num_types()));
      }
      reallocation.add(job, parts);
    }
    reallocation.apply(*state, acts);
    return reallocation.refused();
  }

  [[nodiscard]] Actions& get() const {
    if (actions == nullptr) {
      throw InvalidInput("the actions are valid only inside the call they came with");
    }
    return *actions;
  }
};

/// A Scheduler written in Python: `decide(state, finished, arrived, actions)`.
class PyScheduler final : public Scheduler, public py::trampoline_self_life_support {
 public:
  void begin(const Setup& setup) override {
    seed_ = setup.seed;
    run_id_ = setup.state.run_id();
    view_.placement = &setup.placement;
    view_.active_.clear();
    actions_.reallocation.begin(setup);
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "begin");
    if (override) {
      const ViewGuard guard(view_, setup.state, seed_);
      override(view_object());
    }
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (state.run_id() != run_id_) {
      throw InvalidInput("one instance of a Python order or scheduler serves one run at a time");
    }
    auto& active = view_.active_;
    if (!instant.finished.empty()) {
      std::erase_if(active, [&](JobId job) {
        return std::binary_search(instant.finished.begin(), instant.finished.end(), job);
      });
    }
    active.insert(active.end(), instant.arrived.begin(), instant.arrived.end());
    const py::function override = py::get_override(static_cast<const Scheduler*>(this), "decide");
    if (!override) throw py::type_error("scheduler: decide is missing");
    if (!actions_object_) {
      actions_object_ = py::cast(&actions_, py::return_value_policy::reference);
    }
    const ViewGuard guard(view_, state, seed_);
    actions_.actions = &actions;
    actions_.state = &state;
    const struct Close {
      ActionsView& view;
      ~Close() { view.actions = nullptr; }
    } close{actions_};
    override(view_object(), job_array(instant.finished), job_array(instant.arrived),
             actions_object_);
  }

 private:
  py::object view_object() {
    if (!view_object_) view_object_ = py::cast(&view_, py::return_value_policy::reference);
    return view_object_;
  }

  std::uint64_t seed_ = 0;
  std::uint64_t run_id_ = 0;
  StateView view_;
  ActionsView actions_;
  py::object view_object_;
  py::object actions_object_;
};

}  // namespace gpusched::bindings
