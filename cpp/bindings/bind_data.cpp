#include <pybind11/stl.h>

#include <memory>

#include "base/check.hpp"
#include "bindings.hpp"
#include "data.hpp"
#include "engine/simulation.hpp"
#include "model/cluster.hpp"

namespace gpusched::bindings {
namespace {

py::arg_v optional(const char* column) { return py::arg(column).noconvert() = py::none(); }

}  // namespace

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

  // The columns that a trace may lack are keywords, as many as there are.
  py::class_<OwnedJobTable>(m, "JobTable", "Jobs as borrowed columns, sorted by submit.")
      .def(py::init([](I64 submit_us, I64 service_us, I32 gpus, std::optional<I64> predicted_us,
                       std::optional<I64> estimate_us, std::optional<I64> checkpoint_us,
                       std::optional<I64> restart_us, std::optional<F64> weight,
                       std::optional<I64> deadline_us, std::optional<F64> value,
                       std::optional<I32> min_gpus, std::optional<I32> max_gpus,
                       std::optional<I32> demand, std::optional<I32> demand_share_milli,
                       std::optional<I64> demand_cpu_milli,
                       std::optional<I64> demand_memory_mib, std::optional<I32> type_set,
                       std::vector<TypeMask> type_masks, std::optional<I32> profile,
                       std::optional<F64> gradient_bytes, std::optional<F64> compute_s,
                       std::optional<I32> table_counts, std::optional<F64> throughput,
                       std::optional<F64> spread_throughput, std::optional<F64> samples_per_s,
                       std::optional<I64> max_samples, std::optional<I64> global_batch,
                       std::optional<I32> graph, std::optional<I32> graph_begin,
                       std::optional<I32> replicas, std::optional<F64> stage_compute_s,
                       std::optional<F64> activation_bytes, std::optional<F64> parameter_bytes) {
             return std::make_unique<OwnedJobTable>(
                 TraceColumns{.submit_us = std::move(submit_us),
                              .service_us = std::move(service_us),
                              .gpus = std::move(gpus),
                              .predicted_us = std::move(predicted_us),
                              .estimate_us = std::move(estimate_us),
                              .checkpoint_us = std::move(checkpoint_us),
                              .restart_us = std::move(restart_us),
                              .weight = std::move(weight),
                              .deadline_us = std::move(deadline_us),
                              .value = std::move(value),
                              .min_gpus = std::move(min_gpus),
                              .max_gpus = std::move(max_gpus),
                              .demand = std::move(demand),
                              .demand_share_milli = std::move(demand_share_milli),
                              .demand_cpu_milli = std::move(demand_cpu_milli),
                              .demand_memory_mib = std::move(demand_memory_mib),
                              .type_set = std::move(type_set),
                              .type_masks = std::move(type_masks),
                              .profile = std::move(profile),
                              .gradient_bytes = std::move(gradient_bytes),
                              .compute_s = std::move(compute_s),
                              .table_counts = std::move(table_counts),
                              .throughput = std::move(throughput),
                              .spread_throughput = std::move(spread_throughput),
                              .samples_per_s = std::move(samples_per_s),
                              .max_samples = std::move(max_samples),
                              .global_batch = std::move(global_batch),
                              .graph = std::move(graph),
                              .graph_begin = std::move(graph_begin),
                              .replicas = std::move(replicas),
                              .stage_compute_s = std::move(stage_compute_s),
                              .activation_bytes = std::move(activation_bytes),
                              .parameter_bytes = std::move(parameter_bytes)});
           }),
           py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
           py::arg("gpus").noconvert(), py::kw_only(), optional("predicted_us"),
           optional("estimate_us"), optional("checkpoint_us"), optional("restart_us"),
           optional("weight"), optional("deadline_us"), optional("value"), optional("min_gpus"),
           optional("max_gpus"), optional("demand"), optional("demand_share_milli"),
           optional("demand_cpu_milli"), optional("demand_memory_mib"), optional("type_set"),
           py::arg("type_masks") = std::vector<TypeMask>{}, optional("profile"),
           optional("gradient_bytes"), optional("compute_s"), optional("table_counts"),
           optional("throughput"), optional("spread_throughput"), optional("samples_per_s"),
           optional("max_samples"), optional("global_batch"), optional("graph"),
           optional("graph_begin"), optional("replicas"), optional("stage_compute_s"),
           optional("activation_bytes"), optional("parameter_bytes"))
      .def("__len__", [](const OwnedJobTable& jobs) { return jobs.table.num_jobs(); });

  py::class_<Cluster>(m, "Cluster", "GPUs and GPU type of each server, and what connects them.")
      .def(py::init([](const I32& server_gpus, const I32& server_type,
                       const std::optional<F64>& nic_bytes_per_s,
                       const std::optional<F64>& intra_bytes_per_s,
                       const std::optional<I32>& server_domain,
                       const std::optional<I32>& domain_parent,
                       const std::optional<F64>& uplink_bytes_per_s,
                       const std::optional<I64>& cpu_milli,
                       const std::optional<I64>& memory_mib) {
             const NetworkColumns network{
                 .nic_bytes_per_s = view(nic_bytes_per_s, "nic_bytes_per_s"),
                 .intra_bytes_per_s = view(intra_bytes_per_s, "intra_bytes_per_s"),
                 .server_domain = view(server_domain, "server_domain"),
                 .domain_parent = view(domain_parent, "domain_parent"),
                 .uplink_bytes_per_s = view(uplink_bytes_per_s, "uplink_bytes_per_s")};
             return std::make_unique<Cluster>(view(server_gpus, "server_gpus"),
                                              view(server_type, "server_type"), network,
                                              CapacityColumns{view(cpu_milli, "cpu_milli"),
                                                              view(memory_mib, "memory_mib")});
           }),
           py::arg("server_gpus").noconvert(), py::arg("server_type").noconvert(), py::kw_only(),
           optional("nic_bytes_per_s"), optional("intra_bytes_per_s"), optional("server_domain"),
           optional("domain_parent"), optional("uplink_bytes_per_s"), optional("cpu_milli"),
           optional("memory_mib"))
      .def_property_readonly("num_servers", &Cluster::num_servers)
      .def_property_readonly("num_gpus", &Cluster::num_gpus);
}

}  // namespace gpusched::bindings
