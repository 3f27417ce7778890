#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "deadlines/planner.hpp"

namespace gpusched::bindings {
namespace {

/// A query and the configurations that it borrows.
struct AskedPlan {
  std::vector<PlanConfiguration> configurations;
  PlanQuery query;
};

using Ways = std::vector<std::tuple<int, int, double>>;
using Steps = std::vector<std::tuple<std::int64_t, std::int64_t, int>>;

std::vector<PlanStep> plan_of(const Steps& steps) {
  std::vector<PlanStep> plan;
  for (const auto& [begin, end, configuration] : steps) plan.push_back({begin, end, configuration});
  return plan;
}

}  // namespace

void bind_planner_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  py::class_<AskedPlan>(testing, "PlanQuery", "A job as seen by the deadline planner.")
      .def(py::init([](const Ways& ways, double work, double value, std::int64_t change_us,
                       std::int64_t now_us, std::int64_t deadline_us) {
             AskedPlan asked;
             for (const auto& [type, gpus, rate] : ways) {
               asked.configurations.push_back({type, gpus, rate});
             }
             asked.query = {.configurations = asked.configurations,
                            .work = work,
                            .value = value,
                            .change = Time{change_us},
                            .now = Time{now_us},
                            .deadline = Time{deadline_us}};
             return asked;
           }),
           py::kw_only(), py::arg("ways"), py::arg("work"), py::arg("value"), py::arg("change_us"),
           py::arg("now_us"), py::arg("deadline_us"), "Ways to run: (type, gpus, rate).");
  py::class_<DeadlinePlanner>(testing, "DeadlinePlanner", "Plans and their reserved GPUs.")
      .def(py::init([](const std::vector<std::int64_t>& gpus, std::int64_t slot_us, int quanta) {
             const PlannerOptions options{.slot = Time{slot_us}, .quanta = quanta};
             return std::make_unique<DeadlinePlanner>(options, gpus);
           }),
           py::arg("type_gpus"), py::kw_only(), py::arg("slot_us"), py::arg("quanta"))
      .def("see",
           [](DeadlinePlanner& planner, const AskedPlan& asked) { planner.see(asked.query); })
      .def("is_too_dear",
           [](DeadlinePlanner& planner, const AskedPlan& asked) {
             return planner.is_too_dear(asked.query, asked.query.value);
           })
      .def("find",
           [](DeadlinePlanner& planner, const AskedPlan& asked) {
             std::vector<PlanStep> plan;
             double cost = 0.0;
             const PlanVerdict verdict = planner.find(asked.query, plan, cost);
             Steps steps;
             for (const PlanStep& s : plan) steps.emplace_back(s.begin, s.end, s.configuration);
             return std::tuple(std::string(name_of(verdict)), std::move(steps), cost);
           })
      .def("promise", [](DeadlinePlanner& planner, const AskedPlan& asked,
                         const Steps& steps) { planner.promise(asked.query, plan_of(steps)); })
      .def("withdraw", [](DeadlinePlanner& planner, const AskedPlan& asked,
                          const Steps& steps) { planner.withdraw(asked.query, plan_of(steps)); })
      .def("advance", [](DeadlinePlanner& planner, std::int64_t us) { planner.advance(Time{us}); })
      .def("promised", [](const DeadlinePlanner& planner, int type,
                          std::int64_t slot) { return planner.ledger().promised(type, slot); })
      .def("price", [](const DeadlinePlanner& planner, int type, int promised) {
        return planner.prices().of(type, promised);
      });
}

}  // namespace gpusched::bindings
