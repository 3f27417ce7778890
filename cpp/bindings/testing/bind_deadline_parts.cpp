#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "deadlines/plan_oracle.hpp"
#include "deadlines/plan_search.hpp"
#include "deadlines/planner.hpp"
#include "deadlines/prices.hpp"

namespace gpusched::bindings {
namespace {

std::vector<double> price_table(const std::string& rule, std::int64_t gpus, double least_density,
                                double greatest_density, int greatest_gpus) {
  Prices prices(price_rule_of(rule), std::vector<std::int64_t>{gpus});
  prices.see(0, {least_density, greatest_density, 1.0, 1, greatest_gpus});
  prices.see_window(1);
  const auto table = prices.table(0);
  return {table.begin(), table.end()};
}

/// A query and the configurations that it borrows.
struct AskedPlan {
  std::vector<PlanConfiguration> configurations;
  PlanQuery query;
};

using Option = std::tuple<double, int, int, int, bool>;

template <class Finder>
std::pair<double, std::vector<std::int32_t>> solve_plan(const std::vector<Option>& options,
                                                        const std::vector<std::int32_t>& gpus,
                                                        int quanta, int current, bool is_fresh) {
  std::vector<PlanOption> all;
  for (const auto& [cost, same, changed, first, goes_on] : options) {
    all.push_back({cost, same, changed, first, goes_on});
  }
  Finder finder;
  const bool is_found = finder.solve(all, gpus, quanta, current, is_fresh);
  const auto choices = finder.choices();
  return {is_found ? finder.cost() : -1.0, {choices.begin(), choices.end()}};
}

using Ways = std::vector<std::tuple<int, int, double>>;
using Steps = std::vector<std::tuple<std::int64_t, std::int64_t, int>>;

std::vector<PlanStep> plan_of(const Steps& steps) {
  std::vector<PlanStep> plan;
  for (const auto& [begin, end, configuration] : steps) plan.push_back({begin, end, configuration});
  return plan;
}

void bind_planner(py::module_& testing) {
  py::class_<AskedPlan>(testing, "PlanQuery", "A job as the planner of deadlines sees it.")
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
  py::class_<DeadlinePlanner>(testing, "DeadlinePlanner", "Plans, and what is promised by them.")
      .def(py::init([](const std::vector<std::int64_t>& gpus, std::int64_t slot_us, int quanta) {
             PlannerOptions exact{.slot = Time{slot_us}, .quanta = quanta, .is_exact = true};
             return std::make_unique<DeadlinePlanner>(exact, gpus);
           }),
           py::arg("type_gpus"), py::kw_only(), py::arg("slot_us"), py::arg("quanta"))
      .def("see",
           [](DeadlinePlanner& planner, const AskedPlan& asked) { planner.see(asked.query); })
      .def("is_too_dear", [](DeadlinePlanner& planner,
                             const AskedPlan& asked) { return planner.is_too_dear(asked.query); })
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

}  // namespace

void bind_deadline_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  bind_planner(testing);
  testing.def("portable_root", &portable_root, py::arg("value"), py::arg("degree"),
              "The root by products alone.");
  testing.def("price_table", &price_table, py::arg("rule"), py::arg("gpus"),
              py::arg("least_density"), py::arg("greatest_density"), py::arg("greatest_gpus"),
              "Prices of 0 to all GPUs after one job.");
  testing.def("solve_plan", &solve_plan<PlanOracle>, py::arg("options"), py::arg("gpus"),
              py::arg("quanta"), py::arg("current"), py::arg("is_fresh"),
              "The oracle alone; options: (cost, same, changed, first, goes_on). No cost: -1.");
  testing.def("search_plan", &solve_plan<PlanSearch>, py::arg("options"), py::arg("gpus"),
              py::arg("quanta"), py::arg("current"), py::arg("is_fresh"),
              "The same, options left out that no cheapest plan uses.");
}

}  // namespace gpusched::bindings
