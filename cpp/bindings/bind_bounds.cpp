#include <pybind11/typing.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "solvers/makespan_bounds.hpp"
#include "solvers/priced_time.hpp"
#include "solvers/squashed_machine.hpp"

namespace gpusched::bindings {
void bind_bounds(py::module_& m) {
  const auto of_weighted = [&m](const char* name, auto shown, const char* doc) {
    m.def(
        name,
        [shown](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
                const Column<std::int32_t>& gpus, std::int64_t num_gpus,
                const Column<double>& weight) {
          const auto submits = view(submit_us, "submit_us");
          const auto services = view(service_us, "service_us");
          const auto widths = view(gpus, "gpus");
          const auto weights = view(weight, "weight");
          std::vector<double> each;
          MeanBusyTime sum;
          {
            const py::gil_scoped_release unlocked;  // no Python object is touched below
            each.resize(submits.size());
            sum = mean_busy_time(submits, services, widths, num_gpus, weights, each);
          }
          return shown(sum, std::move(each));
        },
        py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
        py::arg("gpus").noconvert(), py::arg("num_gpus"), py::arg("weight").noconvert(), doc);
  };
  of_weighted(
      "mean_busy_time",
      [](const MeanBusyTime& sum, const std::vector<double>&) {
        return py::typing::Tuple<py::int_, py::float_>(
            py::make_tuple(exact(sum.half_ticks), sum.weighted_half_ticks));
      },
      "Sums of (mean busy time - submit + service / 2) in half ticks: exact, and weighted. An "
      "empty weight counts every job once.");
  of_weighted(
      "busy_times",
      [](const MeanBusyTime&, std::vector<double> each) { return column_of(std::move(each)); },
      "Mean busy time - submit + service / 2 of each job in half ticks, under mean_busy_time.");

  m.def(
      "priced_times",
      [](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
         const Column<std::int32_t>& widths, const Column<std::int64_t>& edge_us,
         const Column<double>& price) {
        const auto submits = view(submit_us, "submit_us"),
                   services = view(service_us, "service_us");
        const PricedMachines machines{view(widths, "widths"), view(edge_us, "edge_us"),
                                      view(price, "price")};
        const PricedTimes found = [&] {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          return priced_times(submits, services, machines);
        }();
        return py::typing::Tuple<py::float_, py::array_t<double>>(
            py::make_tuple(found.cost, column_of(found.held)));
      },
      py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
      py::arg("widths").noconvert(), py::arg("edge_us").noconvert(), py::arg("price").noconvert(),
      "Bound jobs that run alone and pay for held GPUs by prices over time: the sum of time in\n"
      "system and payments in microseconds, and GPUs x microseconds held in each step. Widths and\n"
      "prices are listed machine by machine.");

  m.def(
      "longest_job",
      [](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us) {
        const auto submits = view(submit_us, "submit_us");
        const auto services = view(service_us, "service_us");
        Uint128 microseconds = 0;
        {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          microseconds = longest_job(submits, services);
        }
        return exact(microseconds);
      },
      py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
      "The largest (submit + service) minus the first submit, in microseconds.");

  const auto of_gangs = [&m](const char* name, auto compute, const char* doc) {
    m.def(
        name,
        [compute](const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
                  const Column<std::int32_t>& gpus, std::int64_t num_gpus) {
          const auto submits = view(submit_us, "submit_us");
          const auto services = view(service_us, "service_us");
          const auto widths = view(gpus, "gpus");
          Uint128 bound = 0;
          {
            const py::gil_scoped_release unlocked;  // no Python object is touched below
            bound = compute(submits, services, widths, num_gpus);
          }
          return exact(bound);
        },
        py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
        py::arg("gpus").noconvert(), py::arg("num_gpus"), doc);
  };
  of_gangs("squashed_srpt", squashed_srpt,
           "Least total flow on the squashed machine, in ticks of 1 / num_gpus microseconds.");
  of_gangs("total_work", total_work,
           "The largest sum of a submit and all later work, minus the first submit, in ticks of 1\n"
           "/ num_gpus microseconds.");
  of_gangs("wide_gangs", wide_gangs,
           "The largest sum of a submit and all later services of jobs with more than half of the\n"
           "GPUs, minus the first submit, in microseconds.");
}

}  // namespace gpusched::bindings
