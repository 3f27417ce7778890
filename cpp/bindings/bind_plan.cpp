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
#include "gangs/bound_scheduler.hpp"
#include "gangs/gang_plan.hpp"
#include "model/cluster.hpp"
#include "promises/lease_line.hpp"

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
  const auto* bound = dynamic_cast<const BoundScheduler*>(scheduler.get());
  if (bound == nullptr) {
    fail_input("policy " + policy + ": does not bind gangs to GPUs, so there is nothing to plan");
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
  std::vector<Value> values;
  values.reserve(plan.shares.size());
  for (const GangShare& share : plan.shares) values.push_back(share.*field);
  return column_of(std::move(values));
}

std::unique_ptr<LeaseLine> lease_line(std::int64_t num_gpus, const Column<std::int32_t>& taken,
                                      const Column<std::int64_t>& gpus,
                                      const Column<std::int64_t>& leases,
                                      const Column<std::int64_t>& until) {
  const auto widths = view(gpus, "gpus");
  const auto counts = view(leases, "leases");
  const auto ends = view(until, "until");
  if (counts.size() != widths.size() || ends.size() != widths.size()) {
    throw py::value_error("gpus, leases and until: lengths differ");
  }
  std::vector<LeaseLine::Claim> claims;
  for (std::size_t i = 0; i < widths.size(); ++i) {
    claims.push_back({static_cast<int>(widths[i]), counts[i], ends[i]});
  }
  return std::make_unique<LeaseLine>(num_gpus, view(taken, "taken"), std::move(claims));
}

}  // namespace

void bind_plan(py::module_& m) {
  py::class_<GangPlan>(m, "GangPlan", "Every job bound to its GPUs under one cap.")
      .def_readonly("cap_us", &GangPlan::cap, "theta, in whole microseconds.")
      .def_readonly("num_tried", &GangPlan::num_tried, "Caps that were tried.")
      .def_property_readonly(
          "first", [](const GangPlan& p) { return column_of(std::vector<std::int64_t>(p.first)); },
          "Job j has the shares [first[j], first[j + 1]); shape (jobs + 1,).")
      .def_property_readonly(
          "server", [](const GangPlan& p) { return column_of_shares(p, &GangShare::server); },
          "The server of each share.")
      .def_property_readonly(
          "mask", [](const GangPlan& p) { return column_of_shares(p, &GangShare::gpus); },
          "The GPUs of each share, a bit for each.")
      .def_property_readonly(
          "busy_us", [](const GangPlan& p) { return column_of(std::vector<double>(p.busy)); },
          "Time bound to each GPU, server by server; shape (GPUs of the cluster,).");

  m.def("plan_gangs", &bound_gangs, py::arg("jobs"), py::arg("cluster"), py::arg("policy"),
        py::arg("policy_values"), py::arg("seed"), py::arg("tolerance"), py::arg("control"),
        "Binds all jobs, as if they came at one instant, as the policy does: under its theta_s,\n"
        "or, where that is 0, under the tightest cap that bisection finds.");
  py::class_<LeaseLine>(
      m, "LeaseLine",
      "Claims to leases, each planned the last ones with room before its end, in their order.")
      .def(
          py::init(&lease_line), py::arg("num_gpus"), py::arg("taken").noconvert(),
          py::arg("gpus").noconvert(), py::arg("leases").noconvert(), py::arg("until").noconvert(),
          "`taken`: GPUs that are not to be had, by lease; `until`: the first lease that ends too\n"
          "late. Leases are counted from the first that may be planned.")
      .def(
          "try_join",
          [](LeaseLine& self, std::size_t place) {
            if (place >= self.size()) throw py::index_error("place: there are fewer claims");
            return self.try_join(place);
          },
          py::arg("place"),
          "Whether the claim could have leases together with all that joined before; it joins then.");
}

}  // namespace gpusched::bindings
