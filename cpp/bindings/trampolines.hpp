#pragma once

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "views.hpp"

namespace gpusched::bindings {

/// A plug-in's view of one run, and its Python object. Python may keep the object, so both may
/// outlive the plug-in and the run, closed.
template <class View>
struct Shown {
  std::shared_ptr<View> view;
  py::object object;

  Shown() = default;
  explicit Shown(std::shared_ptr<View> made) : view(std::move(made)), object(py::cast(view)) {}
};

/// The signature for inspect of a class with an __init__ without arguments, and of derived classes
/// without their own; inspect reads the others itself.
template <class Seam, class Class>
void tell_signature(Class& seam) {
  seam.def_property_readonly_static("__signature__", [](const py::object& derived) -> py::object {
    const py::object init = py::type::of<Seam>().attr("__init__");
    if (!py::object(derived.attr("__init__")).equal(init)) return py::none();
    return py::module_::import("inspect").attr("Signature")();
  });
}

inline py::array_t<std::int64_t> job_array(std::span<const JobId> jobs) {
  py::array_t<std::int64_t> array(static_cast<py::ssize_t>(jobs.size()));
  std::copy(jobs.begin(), jobs.end(), array.mutable_data());
  return array;
}

using Keys = py::array_t<double, py::array::c_style | py::array::forcecast>;

/// The result of `rank` as doubles, null if it is not numeric; a TypeError or ValueError if a cast
/// would lose information.
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
    throw py::value_error("order: rank must return a key for each job; no key may be masked");
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
    // Copied: inside of the call another run may ask this very order.
    const Shown<StateView> shown = shown_for(view);
    const Loan loan(*shown.view, view.state());
    const py::function override = py::get_override(static_cast<const Order*>(this), "rank");
    if (!override) throw py::type_error("order: rank(view, jobs) is missing");
    const py::object answer = override(shown.object, job_array(jobs));
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

  /// The view of the last call, unless that was of another run or is still on its way.
  const Shown<StateView>& shown_for(const QueueView& view) {
    const std::uint64_t run = view.state().run_id();
    if (!shown_.view || shown_.view->is_open() || shown_.view->run_id() != run) {
      shown_ = Shown(std::make_shared<StateView>(run, view.seed()));
    }
    return shown_;
  }

  Shown<StateView> shown_;
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
    const auto view = std::make_shared<FreeView>();
    const Loan loan(*view, free);
    Request kept = request;
    kept.demand = nullptr;  // it points into the trace, which Python's copy may outlive
    const py::object answer = override(view, kept);
    if (answer.is_none()) return false;
    out.reset(request.gpus);
    try {
      for (const auto& [server, mask] : answer.cast<std::vector<std::pair<ServerId, GpuMask>>>()) {
        out.pieces.push_back({server, mask});
      }
    } catch (const py::cast_error&) {
      throw py::type_error("placement: place must return [(server, mask), ...] or None, not " +
                           py::repr(answer).cast<std::string>());
    }
    return true;
  }

  // The GPUs that a Python placement chooses may depend on anything.
  [[nodiscard]] bool allocation_depends_on_job() const override { return true; }
};

}  // namespace gpusched::bindings
