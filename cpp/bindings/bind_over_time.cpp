#include <pybind11/stl.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "runs/cluster_series.hpp"
#include "runs/group_times.hpp"
#include "runs/time_order.hpp"

namespace gpusched::bindings {

void bind_over_time(py::module_& m) {
  using Ticks = Column<std::int64_t>;

  m.def(
      "cluster_series",
      [](const Ticks& submit_us, const Column<std::int32_t>& gpus, const Ticks& finish_us,
         const Column<std::uint8_t>& status, const Ticks& job, const Ticks& start_us,
         const Ticks& end_us, const Ticks& server, const Column<std::uint64_t>& mask) {
        ClusterSeries found;
        {
          const UnlockedPass unlocked(static_cast<std::size_t>(job.size()));
          found = cluster_series({.submit_us = view(submit_us, "submit_us"),
                                  .gpus = view(gpus, "gpus"),
                                  .finish_us = view(finish_us, "finish_us"),
                                  .status = view(status, "status")},
                                 {.job = view(job, "job"),
                                  .start_us = view(start_us, "start_us"),
                                  .end_us = view(end_us, "end_us"),
                                  .server = view(server, "server"),
                                  .mask = view(mask, "mask")});
        }
        return std::tuple(column_of(std::move(found.time_us)),
                          column_of(std::move(found.allocated_gpus)),
                          column_of(std::move(found.queue_jobs)),
                          column_of(std::move(found.queue_gpus)),
                          column_of(std::move(found.running_jobs)));
      },
      py::kw_only(), py::arg("submit_us").noconvert(), py::arg("gpus").noconvert(),
      py::arg("finish_us").noconvert(), py::arg("status").noconvert(), py::arg("job").noconvert(),
      py::arg("start_us").noconvert(), py::arg("end_us").noconvert(), py::arg("server").noconvert(),
      py::arg("mask").noconvert(),
      "Compute the cluster over time from jobs and the rows of an interval log by (job, start):\n"
      "the instants, and from each on the allocated GPUs, the waiting jobs, the GPUs that they\n"
      "request, and the running jobs.");

  m.def(
      "time_order",
      [](const Ticks& time_us) {
        std::vector<std::uint32_t> order;
        {
          const UnlockedPass unlocked(static_cast<std::size_t>(time_us.size()));
          order = time_order(view(time_us, "time_us"));
        }
        return column_of(std::move(order));
      },
      py::arg("time_us").noconvert(),
      "Return the stable ascending order of the times, as indices.");

  m.def(
      "group_times",
      [](const Column<std::uint32_t>& order, const Ticks& time_us,
         const Column<std::int32_t>& group, std::size_t num_groups,
         const std::vector<std::int64_t>& percents) {
        GroupTimes found;
        {
          const UnlockedPass unlocked(static_cast<std::size_t>(time_us.size()));
          found = group_times(view(order, "order"), view(time_us, "time_us"), view(group, "group"),
                              num_groups, percents);
        }
        py::typing::List<Ticks> percentiles;
        for (auto& row : found.percentiles_us) percentiles.append(column_of(std::move(row)));
        return std::tuple(column_of(std::move(found.count)), column_of(std::move(found.mean_us)),
                          percentiles);
      },
      py::kw_only(), py::arg("order").noconvert(), py::arg("time_us").noconvert(),
      py::arg("group").noconvert(), py::arg("num_groups"), py::arg("percents"),
      "Summarise the times of each group of jobs: count, mean (NaN if empty), and for each of the\n"
      "ascending percents a column of nearest ranks (-1 if empty). `order` and `time_us` are the\n"
      "jobs and their times in ascending order; `group` is -1 if a job does not count.");
}

}  // namespace gpusched::bindings
