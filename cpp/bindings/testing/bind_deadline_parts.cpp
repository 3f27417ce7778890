#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"
#include "deadlines/plan_oracle.hpp"
#include "deadlines/plan_search.hpp"
#include "deadlines/prices.hpp"
#include "deadlines/segment_rows.hpp"
#include "solvers/lanes.hpp"
#include "solvers/segment_choices.hpp"

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

std::vector<double> whole_quanta(std::vector<double> lengths, double lost, double rate,
                                 double quantum, int most) {
  const std::size_t size = lengths.size();
  lengths.resize(SegmentChoices::stride_of(size));
  std::vector<double> quanta(lengths.size());
  run_in_lanes(WholeQuanta{lengths, lost, rate, quantum, static_cast<double>(most), quanta.data()});
  quanta.resize(size);
  return quanta;
}

}  // namespace

void bind_deadline_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
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
  testing.def("whole_quanta", &whole_quanta, py::arg("lengths"), py::arg("lost"), py::arg("rate"),
              py::arg("quantum"), py::arg("most"), "Of segments; -1 where nothing is left.");
}

}  // namespace gpusched::bindings
