#include <pybind11/typing.h>

#include <cstdint>

#include "columns.hpp"
#include "solvers/squashed_machine.hpp"

namespace gpusched::bindings {
namespace {

py::int_ exact(Uint128 value) {
  const py::int_ high(static_cast<std::uint64_t>(value >> 64));
  const py::int_ low(static_cast<std::uint64_t>(value));
  return (high << py::int_(64)) | low;
}

}  // namespace

void bind_bounds(py::module_& m) {
  m.def(
      "squashed_srpt",
      [](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
         const Column<std::int32_t>& gpus, std::int64_t num_gpus) {
        const auto submits = view(submit_us, "submit_us");
        const auto services = view(service_us, "service_us");
        const auto widths = view(gpus, "gpus");
        Uint128 ticks = 0;
        {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          ticks = squashed_srpt(submits, services, widths, num_gpus);
        }
        return exact(ticks);
      },
      py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
      py::arg("gpus").noconvert(), py::arg("num_gpus"),
      "Least total flow on the squashed machine, in ticks of 1 / num_gpus microseconds.");

  m.def(
      "mean_busy_time",
      [](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
         const Column<std::int32_t>& gpus, std::int64_t num_gpus, const Column<double>& weight) {
        const auto submits = view(submit_us, "submit_us");
        const auto services = view(service_us, "service_us");
        const auto widths = view(gpus, "gpus");
        const auto weights = view(weight, "weight");
        MeanBusyTime sum;
        {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          sum = mean_busy_time(submits, services, widths, num_gpus, weights);
        }
        return py::typing::Tuple<py::int_, py::float_>(
            py::make_tuple(exact(sum.half_ticks), sum.weighted_half_ticks));
      },
      py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
      py::arg("gpus").noconvert(), py::arg("num_gpus"), py::arg("weight").noconvert(),
      "Sums of (mean busy time - submit + service / 2) in half ticks: exact, and weighted. An "
      "empty weight counts every job once.");
}

}  // namespace gpusched::bindings
