#include <pybind11/stl.h>

#include <map>
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

template <class Value, class Get>
py::array_t<Value> collect(const Schedule& schedule, Get get) {
  std::vector<Value> values(schedule.num_jobs());
  for (JobId job = 0; job < schedule.num_jobs(); ++job) values[job] = get(job);
  return column_of(std::move(values));
}

std::int64_t or_minus_one(Time time) { return time == kNever ? -1 : time.count(); }

py::typing::Dict<py::str, py::array> intervals_of(const Schedule& schedule) {
  std::vector<IntervalRow> rows;
  {
    const py::gil_scoped_release unlocked;
    rows = schedule.intervals();
  }
  const auto column = [&](auto member) {
    using Value = std::remove_cvref_t<decltype(rows.front().*member)>;
    std::vector<Value> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) values[i] = rows[i].*member;
    return column_of(std::move(values));
  };
  py::typing::Dict<py::str, py::array> table;
  table["job"] = column(&IntervalRow::job);
  table["start_us"] = column(&IntervalRow::start_us);
  table["end_us"] = column(&IntervalRow::end_us);
  table["server"] = column(&IntervalRow::server);
  table["mask"] = column(&IntervalRow::mask);
  return table;
}

}  // namespace

void bind_simulation(py::module_& m) {
  py::class_<RunControl>(m, "RunControl", "Stops a run from another thread and shows its progress.")
      .def(py::init<>())
      .def("stop", [](RunControl& control) { control.stop.store(true); })
      .def_property_readonly("num_finished",
                             [](const RunControl& c) { return c.num_finished.load(); });

  py::class_<Schedule>(m, "Schedule", "What a run leaves behind; arrays are copies, one per job.")
      .def_property_readonly("num_jobs", &Schedule::num_jobs)
      .def_property_readonly("start_us",
                             [](const Schedule& s) {
                               return collect<std::int64_t>(s, [&](JobId job) {
                                 return or_minus_one(s.record(job).start);
                               });
                             })
      .def_property_readonly("finish_us",
                             [](const Schedule& s) {
                               return collect<std::int64_t>(s, [&](JobId job) {
                                 return or_minus_one(s.record(job).finish);
                               });
                             })
      .def_property_readonly("held_us",
                             [](const Schedule& s) {
                               return collect<std::int64_t>(
                                   s, [&](JobId job) { return s.record(job).held.count(); });
                             })
      .def_property_readonly("paid_us",
                             [](const Schedule& s) {
                               return collect<std::int64_t>(
                                   s, [&](JobId job) { return s.record(job).paid.count(); });
                             })
      .def_property_readonly("preemptions",
                             [](const Schedule& s) {
                               return collect<std::int32_t>(
                                   s, [&](JobId job) { return s.record(job).preemptions; });
                             })
      .def_property_readonly("num_servers",
                             [](const Schedule& s) {
                               return collect<std::int32_t>(
                                   s, [&](JobId job) { return s.record(job).num_servers; });
                             })
      .def_property_readonly("status",
                             [](const Schedule& s) {
                               return collect<std::uint8_t>(s, [&](JobId job) {
                                 return static_cast<std::uint8_t>(s.status(job));
                               });
                             })
      .def_property_readonly("reason",
                             [](const Schedule& s) {
                               return collect<std::uint8_t>(s, [&](JobId job) {
                                 return static_cast<std::uint8_t>(s.record(job).reason);
                               });
                             })
      .def("intervals", &intervals_of,
           "Rows (job, start_us, end_us, server, mask), sorted by job, start, server.")
      .def_property_readonly("digest",
                             [](const Schedule& s) {
                               const py::gil_scoped_release unlocked;
                               return s.digest();
                             })
      .def_property_readonly("counters",
                             [](const Schedule& s) {
                               const Counters& c = s.counters();
                               return std::map<std::string, std::uint64_t>{
                                   {"instants", c.num_instants},
                                   {"events", c.num_events},
                                   {"max_running", c.max_running}};
                             })
      .def_property_readonly("warnings", &Schedule::warnings);

  m.def("simulate", &simulate, py::arg("jobs"), py::arg("cluster"), py::arg("policy").none(false),
        py::arg("policy_values"), py::arg("flags"), py::arg("placement").none(false),
        py::arg("placement_values"), py::arg("seed"), py::arg("control").none(true),
        "Replays the jobs on the cluster. A policy is a registered name, an Order or a Scheduler;\n"
        "a placement a registered name or a Placement. The GIL is released unless one of them is\n"
        "Python's.");
}

}  // namespace gpusched::bindings
