#include <pybind11/stl.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "bindings/bindings.hpp"
#include "bindings/matching_columns.hpp"
#include "market/category.hpp"
#include "market/market.hpp"
#include "market/price_bound.hpp"
#include "market/worker_exchange.hpp"

namespace gpusched::bindings {

void bind_market_parts(py::module_& m) {
  py::module_ testing = m.def_submodule("_testing");
  testing.def(
      "draw_category",
      [](const Counts& least, const Counts& most, std::int32_t workers, std::uint64_t seed) {
        Categories categories;
        categories.begin(view(least, "least"), view(most, "most"), workers, false);
        std::vector<std::int32_t> category;
        categories.uniform(seed, 0, category);
        return category;
      },
      py::arg("least").noconvert(), py::arg("most").noconvert(), py::arg("workers"),
      py::arg("seed"), "Draw uniform numbers of workers for the jobs, with all workers in use.");
  testing.def(
      "count_categories",
      [](const Counts& least, const Counts& most, std::int32_t workers, bool may_idle,
         double limit) {
        Categories categories;
        categories.begin(view(least, "least"), view(most, "most"), workers, may_idle);
        return categories.count(limit);
      },
      py::arg("least").noconvert(), py::arg("most").noconvert(), py::arg("workers"),
      py::arg("may_idle"), py::arg("limit"),
      "Count the categories; any number above `limit` if there are more.");
  py::class_<Market::Result>(testing, "ClearedCategory", "The result of a market for one category.")
      .def_readonly("score", &Market::Result::score)
      .def_readonly("lower_bound", &Market::Result::lower_bound)
      .def_readonly("rounds", &Market::Result::rounds)
      .def_property_readonly("counts",
                             [](const Market::Result& r) {
                               return column_of(std::vector<std::int32_t>(r.counts));
                             })
      .def_property_readonly("price", [](const Market::Result& r) {
        return column_of(std::vector<double>(r.price));
      });
  testing.def(
      "clear_category",
      [](const MatchingColumns& problem, const std::vector<std::int32_t>& category,
         const py::typing::Dict<py::str, py::object>& values) {
        const MatchingMarket::Options options = matching_options(values);
        MarketModel model;
        model.load(problem.problem(), options.goal);
        if (category.size() != model.num_jobs())
          fail_input("category: must have one number for each job");
        Market market;
        market.begin(model, options.market);
        return market.solve(category, kInfinity);
      },
      py::arg("problem"), py::arg("category"), py::arg("options"),
      "Clear the market inside one category of the jobs that do not wait.");
  testing.def(
      "bound_placements",
      [](const MatchingColumns& problem, const Reals& price, const Reals& estimate,
         const std::vector<std::int32_t>& category) {
        MarketModel model;
        model.load(problem.problem(), {.guard = 0.0});
        PriceBound bound;
        bound.begin(model, view(price, "price"), view(estimate, "estimate"));
        for (std::size_t job = 0; job < category.size(); ++job) bound.refine(job, category[job]);
        const double of_category = bound.of_category(category);
        return std::pair(of_category, bound.of_all(16));
      },
      py::arg("problem"), py::arg("price").noconvert(), py::arg("estimate").noconvert(),
      py::arg("category"),
      "Return lower bounds on the summed seconds: of the category, and of all placements.");
  testing.def(
      "improve_placement",
      [](const MatchingColumns& problem, const Counts& counts,
         const py::typing::Dict<py::str, py::object>& values, bool may_resize, bool by_pairs) {
        const MatchingMarket::Options options = matching_options(values);
        MarketModel model;
        model.load(problem.problem(), options.goal);
        Exchange exchange;
        if (by_pairs) exchange.use_pairs();
        exchange.start(model, view(counts, "counts"));
        may_resize ? exchange.resize() : exchange.polish();
        const std::span<const std::int32_t> found = exchange.counts();
        return std::pair(column_of(std::vector(found.begin(), found.end())), exchange.score());
      },
      py::arg("problem"), py::arg("counts").noconvert(), py::arg("options"), py::arg("may_resize"),
      py::arg("by_pairs"), "Exchange workers until no exchange is better; return the score too.");
}

}  // namespace gpusched::bindings
