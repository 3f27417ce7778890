#include <pybind11/stl.h>

#include <memory>

#include "base/check.hpp"
#include "bindings.hpp"
#include "data.hpp"
#include "engine/schedule.hpp"
#include "engine/simulation.hpp"
#include "model/cluster.hpp"

namespace gpusched::bindings {
namespace {

py::arg_v optional(const char* column) { return py::arg(column).noconvert() = py::none(); }

}  // namespace

void bind_errors(py::module_& m) {
  py::register_exception<InvariantError>(m, "InvariantError", PyExc_RuntimeError).doc() =
      "A policy or a placement requested something impossible, or the engine violated an\n"
      "invariant. The message names the time, the job and the digest of the schedule so far.";
  py::register_exception<Stopped>(m, "Stopped", PyExc_RuntimeError).doc() =
      "The run was stopped through its RunControl.";
  py::register_exception<LogLimitError>(m, "LogLimitError", PyExc_ValueError).doc() =
      "The log of a run has more than max_intervals intervals. The message names the time, the\n"
      "job of the last one and the limit. If :func:`gpusched.simulate` raises it, the attribute\n"
      "``result`` is the :class:`gpusched.Result` up to then, with running jobs unfinished.";
}

void bind_data(py::module_& m) {
  m.def("least_run_bytes", &Schedule::least_bytes, py::arg("num_jobs"), py::arg("num_started"),
        py::arg("is_pooled"),
        "Return the minimum bytes of a run, without the columns of its jobs.");
  using I64 = Column<std::int64_t>;
  using I32 = Column<std::int32_t>;
  using F64 = Column<double>;

  py::class_<Cluster>(m, "Cluster",
                      "GPUs and GPU type of each server, and the network between them.")
      .def(py::init(
               [](const I32& server_gpus, const I32& server_type,
                  const std::optional<F64>& nic_bytes_per_s,
                  const std::optional<F64>& intra_bytes_per_s,
                  const std::optional<I32>& server_domain, const std::optional<I32>& domain_parent,
                  const std::optional<F64>& uplink_bytes_per_s, const std::optional<I64>& cpu_milli,
                  const std::optional<I64>& memory_mib, const std::optional<I32>& part_of) {
                 const NetworkColumns network{
                     .nic_bytes_per_s = view(nic_bytes_per_s, "nic_bytes_per_s"),
                     .intra_bytes_per_s = view(intra_bytes_per_s, "intra_bytes_per_s"),
                     .server_domain = view(server_domain, "server_domain"),
                     .domain_parent = view(domain_parent, "domain_parent"),
                     .uplink_bytes_per_s = view(uplink_bytes_per_s, "uplink_bytes_per_s")};
                 const auto gpus = view(server_gpus, "server_gpus");
                 const auto types = view(server_type, "server_type");
                 const CapacityColumns capacity{view(cpu_milli, "cpu_milli"),
                                                view(memory_mib, "memory_mib"),
                                                view(part_of, "part_of")};
                 const py::gil_scoped_release unlocked;  // no Python object is touched below
                 return std::make_unique<Cluster>(gpus, types, network, capacity);
               }),
           py::arg("server_gpus").noconvert(), py::arg("server_type").noconvert(), py::kw_only(),
           optional("nic_bytes_per_s"), optional("intra_bytes_per_s"), optional("server_domain"),
           optional("domain_parent"), optional("uplink_bytes_per_s"), optional("cpu_milli"),
           optional("memory_mib"), optional("part_of"))
      .def_property_readonly("num_servers", &Cluster::num_servers)
      .def_property_readonly("num_gpus", &Cluster::num_gpus);
}

}  // namespace gpusched::bindings
