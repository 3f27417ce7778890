#include <pybind11/numpy.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "data.hpp"
#include "runs/vector_environment.hpp"
#include "turn.hpp"

namespace gpusched::bindings {
namespace {

Cost cost_of(const std::string& name) {
  if (name == "wait") return Cost::wait;
  if (name == "jct") return Cost::jct;
  if (name == "slowdown") return Cost::slowdown;
  fail_input("cost: '" + name + "' is unknown; allowed: wait, jct, slowdown");
}

/// The lanes, and the job tables that their runs borrow.
struct Lanes {
  std::vector<py::object> jobs;  // which outlive the runs
  VectorEnvironment lanes;
  // Read and written with the GIL only.
  bool is_at_work = false;
  std::thread::id entered{};  // the only thread that may call; none: any

  static constexpr const char* kName = "environment";

  [[nodiscard]] Turn turn() {
    if (entered != std::thread::id() && entered != std::this_thread::get_id()) Turn::refuse(kName);
    return Turn(is_at_work, kName);
  }
  void enter() {
    if (is_at_work || entered != std::thread::id()) Turn::refuse(kName);
    entered = std::this_thread::get_id();
  }
};

/// An array that shows a buffer of `owner`, read-only.
template <class Value>
py::array_t<Value> shown(std::span<const Value> values, std::vector<py::ssize_t> shape,
                         py::handle owner) {
  py::array_t<Value> array(std::move(shape), values.data(), owner);
  py::detail::array_proxy(array.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

template <class Get>
auto lane_array(Get get) {
  return [get](const py::object& self) {
    const VectorEnvironment& lanes = self.cast<const Lanes&>().lanes;
    const auto values = get(lanes);
    const auto num_lanes = static_cast<py::ssize_t>(lanes.num_lanes());
    const auto of_each = static_cast<py::ssize_t>(values.size()) / num_lanes;
    std::vector<py::ssize_t> shape{num_lanes};
    if (of_each > 1) shape.push_back(of_each);
    return shown(values, std::move(shape), self);
  };
}

}  // namespace

void bind_environment(py::module_& m) {
  py::class_<Lanes>(
      m, "VectorEnvironment",
      "Parallel runs (lanes) that halt whenever a job could start and ask which one to start.\n"
      "Arrays are read-only views that change with each call. A call during another one is\n"
      "refused, and one from outside a `with` block while another thread is in it.")
      .def(py::init([](const Cluster& cluster, std::string placement, Parameters::Values values,
                       std::size_t num_slots, const std::string& cost, std::size_t num_lanes) {
             EnvironmentRules rules{.placement = std::move(placement),
                                    .placement_values = std::move(values),
                                    .num_slots = num_slots,
                                    .cost = cost_of(cost)};
             return Lanes{std::vector<py::object>(num_lanes),
                          VectorEnvironment(cluster, std::move(rules), num_lanes)};
           }),
           py::arg("cluster").none(false), py::kw_only(), py::arg("placement"),
           py::arg("placement_values"), py::arg("num_slots"), py::arg("cost"), py::arg("num_lanes"),
           py::keep_alive<1, 2>())
      .def("__enter__", &Lanes::enter)
      .def(
          "__exit__",
          [](Lanes& self, const py::object&, const py::object&, const py::object&) {
            self.entered = {};
          },
          py::arg("type"), py::arg("value"), py::arg("traceback"))
      .def(
          "begin",
          [](Lanes& self, std::size_t lane, const py::object& jobs, std::uint64_t num_feasible,
             std::uint64_t seed) {
            const Turn turn = self.turn();
            const JobTable& table = jobs.cast<const OwnedJobTable&>().table;
            {
              const py::gil_scoped_release unlocked;  // no Python object is touched below
              self.lanes.begin(lane, table, num_feasible, seed);
            }
            self.jobs[lane] = jobs;  // the run that borrowed the last ones is gone
          },
          py::arg("lane"), py::arg("jobs").none(false), py::arg("num_feasible"), py::arg("seed"),
          "Begin a run of a JobTable; means are over its jobs that can ever run.")
      .def(
          "answer",
          [](Lanes& self, const Column<std::int64_t>& slots) {
            const Turn turn = self.turn();
            const auto answers = view(slots, "slots");
            const py::gil_scoped_release unlocked;
            self.lanes.answer(answers);
          },
          py::arg("slots").noconvert(),
          "Answer every lane whose run is not over: start the job of a slot, or wait.")
      .def(
          "schedule",
          [](Lanes& self, std::size_t lane) {
            const Turn turn = self.turn();
            const py::gil_scoped_release unlocked;  // no Python object is touched below
            return self.lanes.run(lane).schedule();
          },
          py::arg("lane"), "The schedule of a lane so far.")
      .def(
          "waiting",
          [](Lanes& self, std::size_t lane) {
            const Turn turn = self.turn();
            const auto waiting = self.lanes.run(lane).waiting();
            return column_of(std::vector<std::int64_t>(waiting.begin(), waiting.end()));
          },
          py::arg("lane"), "The waiting jobs of a lane; the first ones are observed.")
      .def(
          "now_us",
          [](Lanes& self, std::size_t lane) {
            const Turn turn = self.turn();
            return self.lanes.run(lane).now().count();
          },
          py::arg("lane"), "The time of a lane.")
      .def_property_readonly("features",
                             lane_array([](const VectorEnvironment& of) { return of.features(); }),
                             "float32[lanes, features].")
      .def_property_readonly("allowed",
                             lane_array([](const VectorEnvironment& of) { return of.allowed(); }),
                             "uint8[lanes, slots + 1].")
      .def_property_readonly("rewards",
                             lane_array([](const VectorEnvironment& of) { return of.rewards(); }),
                             "float64[lanes], of the last answer.")
      .def_property_readonly("is_over",
                             lane_array([](const VectorEnvironment& of) { return of.is_over(); }),
                             "uint8[lanes]: whether the run of the lane is over.")
      .def_property_readonly("was_allowed", lane_array([](const VectorEnvironment& of) {
                               return of.was_allowed();
                             }),
                             "uint8[lanes]: whether the last answer was allowed.");
}

}  // namespace gpusched::bindings
