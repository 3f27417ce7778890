#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <variant>

#include "bindings.hpp"
#include "data.hpp"
#include "gpusched/policy.hpp"
#include "gpusched/simulation.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {
namespace {

/// An order that Python owns, for a scheduler that wants to own its order.
class BorrowedOrder final : public Order {
 public:
  explicit BorrowedOrder(Order& order) : order_(order), lifetime_(order.lifetime()) {}

  [[nodiscard]] KeyLifetime lifetime() const override { return lifetime_; }
  [[nodiscard]] bool remembers() const override { return order_.remembers(); }
  void rank(const QueueView& view, std::span<const JobId> jobs, std::span<double> key) override {
    order_.rank(view, jobs, key);
  }

 private:
  Order& order_;
  KeyLifetime lifetime_;
};

using PolicyArgument = std::variant<std::string, Order*, Scheduler*>;
using PlacementArgument = std::variant<std::string, Placement*>;

std::unique_ptr<Scheduler> scheduler_for(Order& order, const Parameters::Values& values,
                                         const std::vector<std::string>& flags,
                                         const Placement& placement, const JobTable& jobs) {
  PluginInfo info;
  info.flags = flags;
  const Parameters parameters("policy", policy_parameters(info), values);
  return make_list_scheduler(info, std::make_unique<BorrowedOrder>(order), parameters, placement,
                             jobs);
}

std::string digest_so_far(Simulation& simulation) {
  return "; digest of the schedule so far: " + simulation.finish().digest();
}

Schedule run(Simulation& simulation) {
  try {
    simulation.run();
  } catch (const InvariantError& error) {
    throw InvariantError(error.what() + digest_so_far(simulation));
  } catch (py::error_already_set& error) {
    // An action's error that passed through a scheduler written in Python.
    const py::object type = py::module_::import("gpusched._core").attr("InvariantError");
    if (!error.matches(type)) throw;
    const auto message = py::str(error.value()).cast<std::string>();
    py::raise_from(error, type.ptr(), (message + digest_so_far(simulation)).c_str());
    throw py::error_already_set();
  }
  return simulation.finish();
}

Schedule simulate(const OwnedJobTable& jobs, const Cluster& cluster, const PolicyArgument& policy,
                  const Parameters::Values& policy_values, const std::vector<std::string>& flags,
                  const PlacementArgument& placement, const Parameters::Values& placement_values,
                  std::uint64_t seed, RunControl* control) {
  std::unique_ptr<Placement> own_placement;
  if (const auto* name = std::get_if<std::string>(&placement)) {
    own_placement = make_placement(*name, placement_values);
  }
  Placement& places = own_placement ? *own_placement : *std::get<Placement*>(placement);

  std::unique_ptr<Scheduler> own_scheduler;
  if (const auto* name = std::get_if<std::string>(&policy)) {
    own_scheduler = make_scheduler(*name, policy_values, places, jobs.table);
  } else if (const auto* order = std::get_if<Order*>(&policy)) {
    own_scheduler = scheduler_for(**order, policy_values, flags, places, jobs.table);
  }
  Scheduler& decides = own_scheduler ? *own_scheduler : *std::get<Scheduler*>(policy);

  RunControl own_control;
  RunControl& steers = control != nullptr ? *control : own_control;
  const bool is_native =
      std::holds_alternative<std::string>(policy) && std::holds_alternative<std::string>(placement);
  std::optional<py::gil_scoped_release> unlocked;
  if (is_native) unlocked.emplace();  // no Python object is touched below
  Simulation simulation(jobs.table, cluster, decides, places, seed, steers);
  return run(simulation);
}

}  // namespace

void bind_simulation(py::module_& m) {
  py::class_<RunControl>(m, "RunControl", "Stops a run from another thread and shows its progress.")
      .def(py::init<>())
      .def("stop", [](RunControl& control) { control.stop.store(true); })
      .def_property_readonly("num_finished",
                             [](const RunControl& c) { return c.num_finished.load(); });

  m.def("simulate", &simulate, py::arg("jobs"), py::arg("cluster"), py::arg("policy").none(false),
        py::arg("policy_values"), py::arg("flags"), py::arg("placement").none(false),
        py::arg("placement_values"), py::arg("seed"), py::arg("control").none(true),
        "Replays the jobs on the cluster. A policy is a registered name, an Order or a Scheduler;\n"
        "a placement a registered name or a Placement. The GIL is released unless one of them is\n"
        "Python's.");
}

}  // namespace gpusched::bindings
