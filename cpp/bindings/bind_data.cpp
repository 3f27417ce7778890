#include <pybind11/stl.h>

#include <memory>

#include "bindings.hpp"
#include "data.hpp"
#include "gpusched/check.hpp"
#include "gpusched/cluster.hpp"
#include "gpusched/simulation.hpp"

namespace gpusched::bindings {

void bind_errors(py::module_& m) {
  py::register_exception<InvariantError>(m, "InvariantError", PyExc_RuntimeError).doc() =
      "A policy or a placement asked for something impossible, or the engine broke a rule of its\n"
      "own. The message names the time, the job and the digest of the schedule so far.";
  py::register_exception<Stopped>(m, "Stopped", PyExc_RuntimeError).doc() =
      "The run was stopped through its RunControl.";
}

void bind_data(py::module_& m) {
  using I64 = Column<std::int64_t>;
  using I32 = Column<std::int32_t>;
  using F64 = Column<double>;

  py::class_<OwnedJobTable>(m, "JobTable", "Jobs as borrowed columns, sorted by submit.")
      .def(py::init([](I64 submit_us, I64 service_us, I32 gpus, std::optional<I64> predicted_us,
                       std::optional<I64> estimate_us, std::optional<I64> checkpoint_us,
                       std::optional<I64> restart_us, std::optional<F64> weight,
                       std::optional<I32> type_set, std::vector<TypeMask> type_masks,
                       std::optional<I32> profile, std::optional<F64> gradient_bytes,
                       std::optional<F64> compute_s, std::optional<I32> graph,
                       std::optional<I32> graph_begin, std::optional<I32> replicas,
                       std::optional<F64> stage_compute_s, std::optional<F64> activation_bytes,
                       std::optional<F64> parameter_bytes) {
             return std::make_unique<OwnedJobTable>(TraceColumns{
                 std::move(submit_us), std::move(service_us), std::move(gpus),
                 std::move(predicted_us), std::move(estimate_us), std::move(checkpoint_us),
                 std::move(restart_us), std::move(weight), std::move(type_set),
                 std::move(type_masks), std::move(profile), std::move(gradient_bytes),
                 std::move(compute_s), std::move(graph), std::move(graph_begin),
                 std::move(replicas), std::move(stage_compute_s), std::move(activation_bytes),
                 std::move(parameter_bytes)});
           }),
           py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
           py::arg("gpus").noconvert(), py::kw_only(),
           py::arg("predicted_us").noconvert() = py::none(),
           py::arg("estimate_us").noconvert() = py::none(),
           py::arg("checkpoint_us").noconvert() = py::none(),
           py::arg("restart_us").noconvert() = py::none(),
           py::arg("weight").noconvert() = py::none(),
           py::arg("type_set").noconvert() = py::none(),
           py::arg("type_masks") = std::vector<TypeMask>{},
           py::arg("profile").noconvert() = py::none(),
           py::arg("gradient_bytes").noconvert() = py::none(),
           py::arg("compute_s").noconvert() = py::none(),
           py::arg("graph").noconvert() = py::none(),
           py::arg("graph_begin").noconvert() = py::none(),
           py::arg("replicas").noconvert() = py::none(),
           py::arg("stage_compute_s").noconvert() = py::none(),
           py::arg("activation_bytes").noconvert() = py::none(),
           py::arg("parameter_bytes").noconvert() = py::none())
      .def("__len__", [](const OwnedJobTable& jobs) { return jobs.table.num_jobs(); });

  py::class_<Cluster>(m, "Cluster", "GPUs and GPU type of each server, and what connects them.")
      .def(py::init([](const I32& server_gpus, const I32& server_type,
                       const std::optional<F64>& nic_bytes_per_s,
                       const std::optional<F64>& intra_bytes_per_s,
                       const std::optional<I32>& server_domain,
                       const std::optional<I32>& domain_parent,
                       const std::optional<F64>& uplink_bytes_per_s) {
             const NetworkColumns network{
                 .nic_bytes_per_s = view(nic_bytes_per_s, "nic_bytes_per_s"),
                 .intra_bytes_per_s = view(intra_bytes_per_s, "intra_bytes_per_s"),
                 .server_domain = view(server_domain, "server_domain"),
                 .domain_parent = view(domain_parent, "domain_parent"),
                 .uplink_bytes_per_s = view(uplink_bytes_per_s, "uplink_bytes_per_s")};
             return std::make_unique<Cluster>(view(server_gpus, "server_gpus"),
                                              view(server_type, "server_type"), network);
           }),
           py::arg("server_gpus").noconvert(), py::arg("server_type").noconvert(), py::kw_only(),
           py::arg("nic_bytes_per_s").noconvert() = py::none(),
           py::arg("intra_bytes_per_s").noconvert() = py::none(),
           py::arg("server_domain").noconvert() = py::none(),
           py::arg("domain_parent").noconvert() = py::none(),
           py::arg("uplink_bytes_per_s").noconvert() = py::none())
      .def_property_readonly("num_servers", &Cluster::num_servers)
      .def_property_readonly("num_gpus", &Cluster::num_gpus);
}

}  // namespace gpusched::bindings
