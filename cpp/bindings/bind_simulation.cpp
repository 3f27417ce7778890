#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "data.hpp"
#include "run.hpp"
#include "run_watch.hpp"

namespace gpusched::bindings {

void bind_simulation(py::module_& m) {
  py::class_<RunControl>(m, "RunControl", "Stops a run from another thread and shows its progress.")
      .def(py::init<>())
      .def("stop", [](RunControl& control) { control.stop.store(true); })
      .def("check", &RunControl::check, "Raise Stopped once a stop was asked for.")
      .def(
          "watch",
          [](RunControl& control, py::object look) {
            control.watch = std::make_unique<RunWatch>(std::move(look));
          },
          py::arg("look"),
          "Have the thread of the run, which is not stopped by another then, look up about ten\n"
          "times a second: signals are handled, and `look` is called unless it is None. What these\n"
          "raise ends the run. To be called before the run.")
      .def_property_readonly("num_finished",
                             [](const RunControl& c) { return c.num_finished.load(); });

  using Values = Parameters::Values;
  using Policy = decltype(RunDescription::policy);
  using PlacementSeam = decltype(RunDescription::placement);
  py::class_<RunDescription>(
      m, "RunDescription",
      "What decides a run beside its jobs and its cluster. A policy is a registered name, an\n"
      "Order or a Scheduler; a placement a registered name or a Placement. `policy_flags` say\n"
      "how an Order is run. `verify` has every rate computed anew after each instant, and\n"
      "compared.")
      .def(py::init([](Policy policy, Values policy_values,
                       const std::vector<std::string>& policy_flags, PlacementSeam placement,
                       Values placement_values, std::string speed, Values speed_values,
                       std::string contention, Values contention_values, std::uint64_t seed,
                       bool verify) {
             Flags flags;
             for (const std::string& flag : policy_flags) flags = flags.with(flag_of(flag));
             return RunDescription{.policy = std::move(policy),
                                   .policy_values = std::move(policy_values),
                                   .policy_flags = flags,
                                   .placement = std::move(placement),
                                   .placement_values = std::move(placement_values),
                                   .speed = std::move(speed),
                                   .speed_values = std::move(speed_values),
                                   .contention = std::move(contention),
                                   .contention_values = std::move(contention_values),
                                   .seed = seed,
                                   .verify = verify};
           }),
           py::kw_only(), py::arg("policy").none(false), py::arg("policy_values") = Values{},
           py::arg("policy_flags") = std::vector<std::string>{}, py::arg("placement").none(false),
           py::arg("placement_values") = Values{}, py::arg("speed") = "fixed",
           py::arg("speed_values") = Values{}, py::arg("contention") = "none",
           py::arg("contention_values") = Values{}, py::arg("seed") = 0, py::arg("verify") = false,
           py::keep_alive<1, 2>(), py::keep_alive<1, 5>());

  py::class_<Run>(m, "Run",
                  "A replay of the jobs on the cluster that can be halted between arrivals. The\n"
                  "GIL is released unless the description holds an object of Python.")
      .def(py::init([](const OwnedJobTable& jobs, const Cluster& cluster,
                       const RunDescription& description, std::optional<RunControl*> control) {
             return std::make_unique<Run>(jobs, cluster, description, control.value_or(nullptr));
           }),
           py::arg("jobs").none(false), py::arg("cluster").none(false),
           py::arg("description").none(false), py::arg("control") = py::none(),
           py::keep_alive<1, 2>(), py::keep_alive<1, 3>(), py::keep_alive<1, 4>(),
           py::keep_alive<1, 5>())
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
      .def("finish", &Run::finish, "Goes on to the end and returns the schedule; only once.")
      .def("so_far", &Run::so_far,
           "What was done until a stop, or an error of a policy; only once. What held GPUs then\n"
           "held them until then, and is unfinished.");
}

}  // namespace gpusched::bindings
