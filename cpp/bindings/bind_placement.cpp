#include "bindings.hpp"
#include "copying.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {

void bind_placement(py::module_& m) {
  py::class_<FreeView, std::shared_ptr<FreeView>>(m, "FreeGpus", "The free GPUs of a run.")
      .def_property_readonly(
          "free_gpus",
          [](const FreeView& v) {
            const Occupancy& free = v.get();
            py::array_t<std::int32_t> out(free.cluster().num_servers());
            for (ServerId s = 0; s < free.cluster().num_servers(); ++s) {
              out.mutable_data()[s] = free.free_gpus(s);
            }
            return out;
          },
          "Free GPUs of each server.")
      .def_property_readonly(
          "server_gpus",
          [](const FreeView& v) {
            const Cluster& cluster = v.get().cluster();
            py::array_t<std::int32_t> out(cluster.num_servers());
            for (ServerId s = 0; s < cluster.num_servers(); ++s) {
              out.mutable_data()[s] = cluster.gpus(s);
            }
            return out;
          },
          "GPUs of each server.")
      .def_property_readonly(
          "server_type",
          [](const FreeView& v) {
            const Cluster& cluster = v.get().cluster();
            py::array_t<std::int32_t> out(cluster.num_servers());
            for (ServerId s = 0; s < cluster.num_servers(); ++s) {
              out.mutable_data()[s] = cluster.type(s);
            }
            return out;
          },
          "GPU type of each server, as a bit position of `Request.types`.")
      .def(
          "lowest_free",
          [](const FreeView& v, ServerId server, int count) {
            const Occupancy& free = v.get();
            if (server < 0 || server >= free.cluster().num_servers()) {
              throw py::index_error("unknown server " + std::to_string(server));
            }
            if (count < 0 || count > free.free_gpus(server)) {
              throw InvalidInput("server " + std::to_string(server) + " has " +
                                 std::to_string(free.free_gpus(server)) + " free GPUs, not " +
                                 std::to_string(count));
            }
            return free.lowest_free(server, count).mask;
          },
          py::arg("server"), py::arg("count"), "Mask of the lowest free GPUs of a server.");
  py::class_<Placement, PyPlacement, py::smart_holder> placement(
      m, "Placement",
      "A placement of jobs on GPUs. Subclass it and write `place(free, request)`, which returns\n"
      "[(server, mask), ...] in server order for the whole job, or None if the job must wait.");
  placement.def(py::init<>())
      .def(
          "begin", [](Placement&, std::uint64_t) {}, py::arg("seed"),
          "Prepare for a run with its seed; does nothing unless overridden.");
  copy_by_state<Placement, PyPlacement>(placement);
  tell_signature<Placement>(placement);
}

}  // namespace gpusched::bindings
