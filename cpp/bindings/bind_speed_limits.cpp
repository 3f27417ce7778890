#include <pybind11/stl.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "data.hpp"
#include "seams/named.hpp"

namespace gpusched::bindings {
namespace {

py::typing::Dict<py::str, py::array_t<double>> iteration_limits(const OwnedJobTable& jobs,
                                                                const Cluster& cluster,
                                                                const std::string& speed,
                                                                const Parameters::Values& values) {
  const auto model = make_speed(speed, values);
  const std::vector<double> unknown(jobs.table.num_jobs(),
                                    std::numeric_limits<double>::quiet_NaN());
  std::vector<double> low = unknown;
  std::vector<double> min = unknown;
  std::vector<double> max = unknown;
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    const JobClasses classes(jobs.table, cluster);
    model->begin(jobs.table, cluster, classes);
    for (JobId job = 0; job < jobs.table.num_jobs(); ++job) {
      if (classes.of(job) == JobClasses::kNoClass) continue;
      const IterationLimits limits = model->limits(job);
      low[job] = limits.low;
      min[job] = limits.min;
      max[job] = limits.max;
    }
  }
  py::typing::Dict<py::str, py::array_t<double>> columns;
  columns["low"] = column_of(std::move(low));
  columns["min"] = column_of(std::move(min));
  columns["max"] = column_of(std::move(max));
  return columns;
}

/// Lower bounds over the configurations of a job: its run time and GPU time, as fractions of those
/// of its own width on the best type; and the lowest and highest width at which it can run. Jobs of
/// one profile, width and limits share them.
py::typing::Dict<py::str, py::array_t<double>> least_costs(const OwnedJobTable& owned,
                                                           const Cluster& cluster,
                                                           const std::string& speed,
                                                           const Parameters::Values& values) {
  const auto model = make_speed(speed, values);
  const JobTable& jobs = owned.table;
  std::vector<double> time(jobs.num_jobs(), 1.0);
  std::vector<double> gpu_time(jobs.num_jobs(), 1.0);
  std::vector<double> narrowest(jobs.num_jobs());
  std::vector<double> widest(jobs.num_jobs());
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    const JobClasses classes(jobs, cluster);
    model->begin(jobs, cluster, classes);
    using Key = std::tuple<std::int32_t, int, TypeMask, int, int>;
    struct Least {
      double time = 1.0;
      double gpu_time = 1.0;
      int narrowest;
      int widest;
    };
    std::map<Key, Least> known;
    for (JobId job = 0; job < jobs.num_jobs(); ++job) {
      narrowest[job] = widest[job] = jobs.gpus(job);
      if (!model->is_elastic()) continue;
      if (classes.of(job) == JobClasses::kNoClass || !model->can_run(job)) continue;
      const int own = jobs.gpus(job);
      const Key key{jobs.columns().profile[job], own, jobs.types(job), jobs.min_gpus(job),
                    jobs.max_gpus(job)};
      const auto [found, is_new] = known.try_emplace(key, Least{.narrowest = own, .widest = own});
      Least& least = found->second;
      if (is_new) {
        const auto most = static_cast<int>(
            std::min<std::int64_t>(std::min(jobs.max_gpus(job), model->widest(job)),
                                   cluster.num_gpus()));
        for (int gpus = jobs.min_gpus(job); gpus <= most; ++gpus) {
          const double part = model->bound_s(job, gpus) / model->ideal_s(job);
          if (!std::isfinite(part)) continue;
          least.time = std::min(least.time, part);
          least.gpu_time = std::min(least.gpu_time, part * gpus / own);
          least.narrowest = std::min(least.narrowest, gpus);
          least.widest = std::max(least.widest, gpus);
        }
      }
      time[job] = least.time;
      gpu_time[job] = least.gpu_time;
      narrowest[job] = least.narrowest;
      widest[job] = least.widest;
    }
  }
  py::typing::Dict<py::str, py::array_t<double>> columns;
  columns["time"] = column_of(std::move(time));
  columns["gpu_time"] = column_of(std::move(gpu_time));
  columns["narrowest"] = column_of(std::move(narrowest));
  columns["widest"] = column_of(std::move(widest));
  return columns;
}

}  // namespace

void bind_speed_limits(py::module_& m) {
  m.def("iteration_limits", &iteration_limits, py::arg("jobs"), py::arg("cluster"),
        py::arg("speed"), py::arg("speed_values"),
        "Return seconds per iteration on the empty cluster: a lower bound, on a good placement,\n"
        "and the worst. NaN if a job can never run.");
  m.def("least_costs", &least_costs, py::arg("jobs"), py::arg("cluster"), py::arg("speed"),
        py::arg("speed_values"),
        "Return lower bounds on the run time (`time`) and the GPU time (`gpu_time`) of each job\n"
        "over all its configurations, as fractions of those at its own width on the best GPU\n"
        "type. 1 if the speed is not elastic.");
}

}  // namespace gpusched::bindings
