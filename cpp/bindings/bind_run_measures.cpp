#include <pybind11/stl.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "runs/run_measures.hpp"

namespace gpusched::bindings {
namespace {

template <class Value>
Value at(const Percentiles<Value>& found, int percent) {
  const auto& known = Percentiles<Value>::kPercents;
  const auto* place = std::find(known.begin(), known.end(), percent);
  if (place == known.end()) {
    fail_input("percent: " + std::to_string(percent) + " must be 50, 90, 95, 99 or 100");
  }
  return found.values[static_cast<std::size_t>(place - known.begin())];
}

template <class Member>
auto wide(Member member) {
  return [member](const RunMeasures& measures) { return exact(measures.*member); };
}

JudgedJobs jobs_of(const Column<std::int64_t>& submit_us, const Column<std::int64_t>& service_us,
                   const Column<std::int32_t>& gpus,
                   const std::optional<Column<std::int32_t>>& share_milli,
                   const std::optional<Column<double>>& weight,
                   const std::optional<Column<std::int32_t>>& tenant, std::size_t num_tenants) {
  return {.submit_us = view(submit_us, "submit_us"),
          .service_us = view(service_us, "service_us"),
          .gpus = view(gpus, "gpus"),
          .share_milli = view(share_milli, "share_milli"),
          .weight = view(weight, "weight"),
          .tenant = view(tenant, "tenant"),
          .num_tenants = num_tenants};
}

}  // namespace

void bind_run_measures(py::module_& m) {
  using Ticks = Column<std::int64_t>;
  using Counts = Column<std::int32_t>;

  py::class_<RunMeasures>(
      m, "RunMeasures",
      "Sums over the finished jobs unless stated otherwise; integers are exact. A job's width\n"
      "counts a share of a GPU as that share, in thousandths.")
      .def_readonly("num_finished", &RunMeasures::num_finished)
      .def_readonly("num_rejected", &RunMeasures::num_rejected)
      .def_readonly("num_unfinished", &RunMeasures::num_unfinished)
      .def_readonly("num_cancelled", &RunMeasures::num_cancelled)
      .def_readonly("first_submit_us", &RunMeasures::first_submit_us, "First submit.")
      .def_readonly("last_finish_us", &RunMeasures::last_finish_us, "Last finish.")
      .def_property_readonly("flow_us", wide(&RunMeasures::flow_us), "Finish - submit.")
      .def_property_readonly("wait_us", wide(&RunMeasures::wait_us), "Time without GPUs.")
      .def_property_readonly("delay_us", wide(&RunMeasures::delay_us), "First start - submit.")
      .def_property_readonly("since_first_us", wide(&RunMeasures::since_first_us),
                             "Submit - first submit.")
      .def(
          "flow_percentile_us",
          [](const RunMeasures& measures, int percent) { return at(measures.flow, percent); },
          py::arg("percent"),
          "Nearest-rank percentile (50, 90, 95, 99 or 100) of the JCT; 0 if none finished.")
      .def(
          "wait_percentile_us",
          [](const RunMeasures& measures, int percent) { return at(measures.wait, percent); },
          py::arg("percent"), "The same for the time without GPUs.")
      .def_readonly("num_servers", &RunMeasures::num_servers)
      .def_readonly("num_preemptions", &RunMeasures::num_preemptions, "Of all jobs.")
      .def_readonly("num_resizes", &RunMeasures::num_resizes, "Of all jobs.")
      .def_property_readonly("held_gpu_milli_us", wide(&RunMeasures::held_gpu_milli_us),
                             "Width x time with GPUs, of all jobs.")
      .def_property_readonly("useful_gpu_milli_us", wide(&RunMeasures::useful_gpu_milli_us),
                             "Width x service.")
      .def_property_readonly("accepted_gpu_milli_us", wide(&RunMeasures::accepted_gpu_milli_us),
                             "Width x service of all jobs that were not rejected.")
      .def_readonly("log_jct", &RunMeasures::log_jct, "ln of the JCT in seconds.")
      .def_readonly("bounded_slowdown", &RunMeasures::bounded_slowdown)
      .def(
          "bounded_slowdown_percentile",
          [](const RunMeasures& measures, int percent) {
            return at(measures.bounded_slowdowns, percent);
          },
          py::arg("percent"), "Like the other percentiles.")
      .def_readonly("tenant_fairness", &RunMeasures::tenant_fairness,
                    "Jain's index of the tenants' mean bounded slowdowns; 0 without tenants.")
      .def_readonly("num_tenants", &RunMeasures::num_tenants, "Tenants with a finished job.")
      .def_readonly("area_jct", &RunMeasures::area_jct, "GPUs x service x JCT, seconds squared.")
      .def_readonly("area", &RunMeasures::area, "GPUs x service, seconds.")
      .def_readonly("weighted_jct", &RunMeasures::weighted_jct, "Weight x JCT, seconds.")
      .def_readonly("weight", &RunMeasures::weight);

  m.def(
      "run_measures",
      [](const Ticks& submit_us, const Ticks& service_us, const Counts& gpus,
         const std::optional<Counts>& share_milli, const std::optional<Column<double>>& weight,
         const std::optional<Counts>& tenant, std::size_t num_tenants, const Ticks& start_us,
         const Ticks& finish_us, const Ticks& held_us, const Counts& preemptions,
         const Counts& resizes, const Counts& num_servers, const Column<std::uint8_t>& status,
         std::int64_t short_service_us) {
        const JudgedJobs jobs =
            jobs_of(submit_us, service_us, gpus, share_milli, weight, tenant, num_tenants);
        const OutcomeColumns outcome{.start_us = view(start_us, "start_us"),
                                     .finish_us = view(finish_us, "finish_us"),
                                     .held_us = view(held_us, "held_us"),
                                     .preemptions = view(preemptions, "preemptions"),
                                     .resizes = view(resizes, "resizes"),
                                     .num_servers = view(num_servers, "num_servers"),
                                     .status = view(status, "status")};
        const UnlockedPass unlocked(outcome.status.size());  // no Python object is touched
        return measures_of(jobs, outcome, short_service_us);
      },
      py::kw_only(), py::arg("submit_us").noconvert(), py::arg("service_us").noconvert(),
      py::arg("gpus").noconvert(), py::arg("share_milli").noconvert(),
      py::arg("weight").noconvert(), py::arg("tenant").noconvert() = py::none(),
      py::arg("num_tenants") = 0, py::arg("start_us").noconvert(), py::arg("finish_us").noconvert(),
      py::arg("held_us").noconvert(), py::arg("preemptions").noconvert(),
      py::arg("resizes").noconvert(), py::arg("num_servers").noconvert(),
      py::arg("status").noconvert(), py::arg("short_service_us"),
      "Compute the measures of a run from its columns, one value per job each; None for whole\n"
      "GPUs, equal weights or no tenants. Tenants are numbered below `num_tenants`. The slowdown\n"
      "counts a service below `short_service_us` as that.");

  m.def(
      "schedule_measures",
      [](const Schedule& schedule, const Ticks& submit_us, const Ticks& service_us,
         const Counts& gpus, const std::optional<Counts>& share_milli,
         const std::optional<Column<double>>& weight, const std::optional<Counts>& tenant,
         std::size_t num_tenants, std::int64_t short_service_us) {
        const JudgedJobs jobs =
            jobs_of(submit_us, service_us, gpus, share_milli, weight, tenant, num_tenants);
        const UnlockedPass unlocked(schedule.num_jobs());  // no Python object is touched
        return measures_of(jobs, schedule, short_service_us);
      },
      py::arg("schedule").none(false), py::kw_only(), py::arg("submit_us").noconvert(),
      py::arg("service_us").noconvert(), py::arg("gpus").noconvert(),
      py::arg("share_milli").noconvert(), py::arg("weight").noconvert(),
      py::arg("tenant").noconvert() = py::none(), py::arg("num_tenants") = 0,
      py::arg("short_service_us"), "The same for a schedule of all the jobs, without its columns.");
}

}  // namespace gpusched::bindings
