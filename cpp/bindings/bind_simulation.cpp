#include <pybind11/stl.h>

#include <limits>
#include <memory>
#include <vector>

#include "bindings.hpp"
#include "data.hpp"
#include "gpusched/policy.hpp"
#include "run.hpp"

namespace gpusched::bindings {
namespace {

py::typing::Dict<py::str, py::array_t<double>> iteration_limits(
    const OwnedJobTable& jobs, const Cluster& cluster, const std::string& speed,
    const Parameters::Values& values) {
  const auto model = make_speed(speed, values);
  const std::vector<double> unknown(jobs.table.num_jobs(),
                                    std::numeric_limits<double>::quiet_NaN());
  std::vector<double> low = unknown;
  std::vector<double> min = unknown;
  std::vector<double> max = unknown;
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    const JobClasses classes(jobs.table, cluster);
    model->begin(jobs.table, cluster, classes);
    for (JobId job = 0; job < jobs.table.num_jobs(); ++job) {
      if (classes.of(job) == JobClasses::kNoClass) continue;
      const IterationLimits limits = model->limits(job);
      low[job] = limits.low;
      min[job] = limits.min;
      max[job] = limits.max;
    }
  }
  py::typing::Dict<py::str, py::array_t<double>> columns;
  columns["low"] = column_of(std::move(low));
  columns["min"] = column_of(std::move(min));
  columns["max"] = column_of(std::move(max));
  return columns;
}

}  // namespace

void bind_simulation(py::module_& m) {
  py::class_<RunControl>(m, "RunControl", "Stops a run from another thread and shows its progress.")
      .def(py::init<>())
      .def("stop", [](RunControl& control) { control.stop.store(true); })
      .def_property_readonly("num_finished",
                             [](const RunControl& c) { return c.num_finished.load(); });

  py::class_<Run>(m, "Run",
                  "A replay of the jobs on the cluster that can be halted between arrivals.\n"
                  "A policy is a registered name, an Order or a Scheduler; a placement a\n"
                  "registered name or a Placement. `verify` has every rate computed anew after\n"
                  "each instant, and compared. The GIL is released unless one of them is Python's.")
      .def(py::init<const OwnedJobTable&, const Cluster&, Run::PolicyArgument,
                    const Parameters::Values&, const std::vector<std::string>&,
                    Run::PlacementArgument, const Parameters::Values&, std::uint64_t, RunControl*,
                    const std::string&, const Parameters::Values&, const std::string&,
                    const Parameters::Values&, bool>(),
           py::arg("jobs").none(false), py::arg("cluster").none(false),
           py::arg("policy").none(false), py::arg("policy_values"), py::arg("flags"),
           py::arg("placement").none(false), py::arg("placement_values"), py::arg("seed"),
           py::arg("control").none(true), py::arg("speed") = "fixed",
           py::arg("speed_values") = Parameters::Values{}, py::arg("contention") = "none",
           py::arg("contention_values") = Parameters::Values{}, py::arg("verify") = false,
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
           py::keep_alive<1, 7>(), py::keep_alive<1, 10>())
      .def("advance", &Run::advance, py::arg("num_jobs"),
           "Handles all instants before the arrival of this job, which must not arrive together\n"
           "with the one before it.")
      .def(
          "take_finished",
          [](Run& run) {
            auto [jobs, finish_us] = run.take_finished();
            return py::typing::Tuple<py::array_t<std::int64_t>, py::array_t<std::int64_t>>(
                py::make_tuple(column_of(std::move(jobs)), column_of(std::move(finish_us))));
          },
          "The jobs that have finished in `advance` since the last call, in that order, and when.")
      .def("finish", &Run::finish, "Goes on to the end and returns the schedule; only once.");

  m.def("iteration_limits", &iteration_limits, py::arg("jobs"), py::arg("cluster"),
        py::arg("speed"), py::arg("speed_values"),
        "Seconds per iteration on the empty cluster: a lower bound, where a good placement puts\n"
        "each job, and the worst. NaN where a job can never run.");
}

}  // namespace gpusched::bindings
