#include <pybind11/stl.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "base/registry.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "data.hpp"
#include "elastic/lease_line.hpp"
#include "gangs/gang_plan.hpp"
#include "gangs/gpu_binding_scheduler.hpp"
#include "model/cluster.hpp"
#include "turn.hpp"

namespace gpusched::bindings {
namespace {

Owned<Scheduler> scheduler_of(const std::string& name, const Parameters::Values& values) {
  const auto* entry = Registry<Scheduler>::find(name);
  if (entry == nullptr) return {};
  return entry->make(entry->info.read("policy " + name, values));
}

GangPlan bound_gangs(const OwnedJobTable& jobs, const Cluster& cluster, const std::string& policy,
                     const Parameters::Values& values, std::uint64_t seed, double tolerance,
                     RunControl& control) {
  if (!(tolerance >= 0.0)) fail_input("tolerance: must be at least 0");
  const Owned<Scheduler> scheduler = scheduler_of(policy, values);
  const auto* bound = dynamic_cast<const GpuBindingScheduler*>(scheduler.get());
  if (bound == nullptr) {
    fail_input("policy " + policy +
               ": cannot plan a batch; only policies that bind jobs to GPUs can");
  }
  const py::gil_scoped_release unlocked;  // no Python object is touched below
  GangPacker packer = make_packer(cluster, seed);
  return std::isinf(bound->cap())
             ? plan_gangs(jobs.table, packer, bound->rule(), tolerance, control)
             : plan_gangs_under(bound->cap(), jobs.table, packer, bound->rule(), control);
}

/// One field of all shares as a column.
template <class Value>
py::array_t<Value> column_of_shares(const GangPlan& plan, Value GangShare::* field) {
  return collect<Value>(plan.shares.size(), [&](std::size_t i) { return plan.shares[i].*field; });
}

/// Throws InvalidInput that names the value.
void check_range(const char* name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (least <= value && value <= most) return;
  fail_input(std::string(name) + ": must be from " + std::to_string(least) + " to " +
             std::to_string(most) + ", is " + std::to_string(value));
}

// A line takes memory for all leases before the last end.
constexpr std::int64_t kMostLeases = std::int64_t{1} << 22;

Lasting<LeaseLine> lease_line(std::int64_t num_gpus, const Column<std::int32_t>& taken,
                              const Column<std::int64_t>& gpus, const Column<std::int64_t>& leases,
                              const Column<std::int64_t>& until) {
  const auto widths = view(gpus, "gpus");
  const auto counts = view(leases, "leases");
  const auto ends = view(until, "until");
  const auto gone = view(taken, "taken");
  const py::gil_scoped_release unlocked;  // no Python object is touched below
  check_range("num_gpus", num_gpus, 0, kMostTaken - 1);
  for (const std::int32_t each : gone) check_range("taken", each, 0, kMostTaken - 1);
  if (counts.size() != widths.size() || ends.size() != widths.size()) {
    throw py::value_error("gpus, leases and until: lengths differ");
  }
  std::vector<LeaseLine::Claim> claims;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    check_range("gpus", widths[i], 1, kMostTaken - 1);
    check_range("leases", counts[i], 0, kMostLeases);
    check_range("until", ends[i], 0, kMostLeases);
    claims.push_back({static_cast<int>(widths[i]), counts[i], ends[i]});
  }
  return {LeaseLine(num_gpus, gone, std::move(claims))};
}

}  // namespace

void bind_plan(py::module_& m) {
  py::class_<GangPlan>(m, "GangPlan", "Every job bound to its GPUs under one cap.")
      .def_readonly("cap_us", &GangPlan::cap, "theta, in whole microseconds.")
      .def_readonly("num_tried", &GangPlan::num_tried, "Number of caps that were tried.")
      .def_property_readonly(
          "first", [](const GangPlan& p) { return copy_of(p.first); },
          "Job j has the shares [first[j], first[j + 1]); shape (jobs + 1,).")
      .def_property_readonly(
          "server", [](const GangPlan& p) { return column_of_shares(p, &GangShare::server); },
          "The server of each share.")
      .def_property_readonly(
          "mask", [](const GangPlan& p) { return column_of_shares(p, &GangShare::gpus); },
          "The GPUs of each share, a bit for each.")
      .def_property_readonly(
          "busy_us", [](const GangPlan& p) { return copy_of(p.busy); },
          "Time bound to each GPU, server by server; shape (GPUs of the cluster,).");

  m.def("plan_gangs", &bound_gangs, py::arg("jobs"), py::arg("cluster"), py::arg("policy"),
        py::arg("policy_values"), py::arg("seed"), py::arg("tolerance"), py::arg("control"),
        "Bind all jobs as the policy does if they all arrive at once: under its theta_s, or, if\n"
        "that is 0, under the tightest cap that bisection finds.");
  py::class_<Lasting<LeaseLine>>(
      m, "LeaseLine",
      "Plan claims to leases in order, each on the latest leases with room before its end.")
      .def(py::init(&lease_line), py::arg("num_gpus"), py::arg("taken").noconvert(),
           py::arg("gpus").noconvert(), py::arg("leases").noconvert(), py::arg("until").noconvert(),
           "`taken`: unavailable GPUs, by lease; `until`: the first lease that ends too late.\n"
           "Leases are counted from the first that may be planned.")
      .def(
          "try_join",
          [](Lasting<LeaseLine>& self, std::size_t place) {
            const Turn turn(self.is_at_work);
            if (place >= self.solver.size()) throw py::index_error("place: there are fewer claims");
            const py::gil_scoped_release unlocked;  // no Python object is touched below
            return self.solver.try_join(place);
          },
          py::arg("place"),
          "Add the claim if it and all earlier ones get leases; return whether it joined.");
}

}  // namespace gpusched::bindings
