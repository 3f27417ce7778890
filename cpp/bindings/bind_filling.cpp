#include <pybind11/stl.h>
#include <pybind11/typing.h>

#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/clone.hpp"
#include "bindings.hpp"
#include "data.hpp"
#include "placing/one_type.hpp"
#include "runs/filling.hpp"
#include "seams/named.hpp"

namespace gpusched::bindings {
namespace {

py::typing::Dict<py::str, py::array> fill_cluster(
    const OwnedJobTable& requests, const Column<std::int64_t>& arrivals, const Cluster& cluster,
    const std::variant<std::string, Placement*>& placement, const Parameters::Values& values,
    std::uint64_t seed, RunControl& control) {
  const auto rows = view(arrivals, "arrivals");
  Owned<Placement> own;
  if (const auto* name = std::get_if<std::string>(&placement)) {
    own = on_cluster(make_placement(*name, values), cluster);
  }
  Placement& places = own ? *own : *std::get<Placement*>(placement);
  Filling filling = [&] {
    std::optional<py::gil_scoped_release> unlocked;
    if (own) unlocked.emplace();  // no Python object is touched below
    return fill(requests.table, rows, cluster, places, seed, control);
  }();
  py::typing::Dict<py::str, py::array> columns;
  columns["is_placed"] = column_of(std::move(filling.is_placed));
  columns["fragmented_milli"] = column_of(std::move(filling.fragmented_milli));
  columns["piece_arrival"] = column_of(std::move(filling.piece_arrival));
  columns["piece_server"] = column_of(std::move(filling.piece_server));
  columns["piece_mask"] = column_of(std::move(filling.piece_mask));
  return columns;
}

}  // namespace

void bind_filling(py::module_& m) {
  m.def("fill", &fill_cluster, py::arg("requests").none(false), py::arg("arrivals").noconvert(),
        py::arg("cluster").none(false), py::arg("placement").none(false),
        py::arg("placement_values"), py::arg("seed"), py::arg("control").none(false),
        "Place requests one by one on an empty cluster; none ever leaves. `arrivals` are rows of\n"
        "the requests. The GIL is released unless the placement is Python's.");
}

}  // namespace gpusched::bindings
