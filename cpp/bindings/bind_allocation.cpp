#include <pybind11/stl.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "bindings.hpp"
#include "elastic/reallocation.hpp"
#include "model/allocation.hpp"

namespace gpusched::bindings {
namespace {

using Pieces = std::vector<std::pair<ServerId, GpuMask>>;

Pieces pieces_of(const Allocation& allocation) {
  Pieces pieces;
  for (const Piece& piece : allocation.pieces) pieces.emplace_back(piece.server, piece.mask);
  return pieces;
}

Allocation allocation_of(int gpus, const Pieces& pieces, std::vector<std::int32_t> ranks) {
  std::vector<std::int32_t> workers = ranks;
  std::sort(workers.begin(), workers.end());
  for (std::size_t at = 0; at < workers.size(); ++at) {
    if (static_cast<std::size_t>(workers[at]) == at && std::ssize(workers) == gpus) continue;
    fail_input("ranks: must list each of the " + std::to_string(gpus) + " workers once, or none");
  }
  Allocation allocation;
  allocation.reset(gpus);
  for (const auto& [server, mask] : pieces) allocation.pieces.push_back({server, mask});
  allocation.ranks = std::move(ranks);
  return allocation;
}

}  // namespace

void bind_allocation(py::module_& m) {
  py::class_<Allocation>(m, "Allocation", "GPUs of a job: (server, mask) pairs, none in a pool.")
      .def(py::init(&allocation_of), py::arg("gpus"), py::arg("pieces") = Pieces{},
           py::arg("ranks") = std::vector<std::int32_t>{})
      .def_readonly("gpus", &Allocation::gpus)
      .def_property_readonly("pieces", &pieces_of)
      .def_property_readonly(
          "ranks", [](const Allocation& a) { return a.ranks; },
          "The worker of each GPU; empty if they are in order.")
      .def("__reduce__", [](const Allocation& a) {
        return std::pair(py::type::of<Allocation>(), std::tuple(a.gpus, pieces_of(a), a.ranks));
      });

  py::class_<Part>(m, "Part", "GPUs of one type of the cluster.")
      .def(py::init([](int type, int gpus) { return Part{type, gpus}; }), py::arg("type"),
           py::arg("gpus"))
      .def(py::init([](std::pair<int, int> part) { return Part{part.first, part.second}; }))
      .def_readonly("type", &Part::type)
      .def_readonly("gpus", &Part::gpus)
      .def("__reduce__", [](const Part& part) {
        return std::pair(py::type::of<Part>(), std::pair(part.type, part.gpus));
      });
  py::implicitly_convertible<py::tuple, Part>();

  py::class_<Request>(m, "Request", "A job that requests GPUs.")
      .def(py::init([](JobId job, int gpus, TypeMask types, int preemptions, int gpus_per_node) {
             return Request{job, gpus, types, preemptions, nullptr, gpus_per_node};
           }),
           py::arg("job"), py::arg("gpus"), py::arg("types") = ~TypeMask{0},
           py::arg("preemptions") = 0, py::arg("gpus_per_node") = 0)
      .def_readonly("job", &Request::job)
      .def_readonly("gpus", &Request::gpus)
      .def_readonly("types", &Request::types, "One bit per allowed GPU type.")
      .def_readonly("preemptions", &Request::preemptions)
      .def_readonly("gpus_per_node", &Request::gpus_per_node,
                    "GPUs on each of its servers; 0: any.")
      .def("__reduce__", [](const Request& r) {
        return std::pair(py::type::of<Request>(),
                         std::tuple(r.job, r.gpus, r.types, r.preemptions, r.gpus_per_node));
      });
}

}  // namespace gpusched::bindings
