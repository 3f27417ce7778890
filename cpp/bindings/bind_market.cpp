#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "bindings.hpp"
#include "market/exact_market.hpp"
#include "market/matching_market.hpp"
#include "matching_columns.hpp"
#include "signal_check.hpp"
#include "solvers/batch_split.hpp"
#include "turn.hpp"

namespace gpusched::bindings {
namespace {

/// In whole or in real samples.
template <class Samples>
auto split(Samples global_batch, const Reals& rates, const Column<Samples>& max_samples,
           bool is_equal) {
  const auto limits = view(max_samples, "max_samples");
  const auto paces = view(rates, "rates");
  std::vector<Samples> out;
  const bool fits = [&] {
    const UnlockedPass unlocked(paces.size());
    out.resize(paces.size());
    return is_equal ? split_equally(global_batch, limits, out)
                    : split_proportionally(global_batch, paces, limits, out);
  }();
  return std::pair(column_of(std::move(out)), fits);
}

using Options = py::typing::Dict<py::str, py::object>;

using LastingMarket = Lasting<std::unique_ptr<MatchingMarket>>;

MatchingMarket::Decision decide(LastingMarket& market, const MatchingColumns& columns,
                                const Options& values, StopCheck& stop) {
  const Turn turn(market.is_at_work);
  const MatchingMarket::Options options = matching_options(values);
  const MatchingProblem problem = columns.problem();
  const py::gil_scoped_release unlocked;  // no Python object is touched below
  // A refused or interrupted call must leave the market unchanged.
  auto next = Cloning::copy(*market.solver);
  {
    const Listening listening(*next, stop);
    next->solve(problem, options);
  }
  market.solver = std::move(next);
  return market.solver->decision();
}

}  // namespace

void bind_market(py::module_& m) {
  py::class_<MatchingColumns>(m, "MatchingProblem",
                              "Jobs that compete for workers, as columns by job.")
      .def(py::init<Reals, Counts, Reals, Reals, std::optional<Reals>, std::optional<Reals>,
                    std::optional<Reals>, std::optional<Reals>, std::optional<Counts>,
                    std::optional<Counts>, std::optional<Counts>, std::optional<Reals>>(),
           py::kw_only(), py::arg("rate").noconvert(), py::arg("capacity").noconvert(),
           py::arg("rounds").noconvert(), py::arg("samples").noconvert(),
           py::arg("gradient_bytes").noconvert() = py::none(),
           py::arg("bytes_per_s").noconvert() = py::none(),
           py::arg("waiting_s").noconvert() = py::none(),
           py::arg("restart_s").noconvert() = py::none(),
           py::arg("previous").noconvert() = py::none(),
           py::arg("min_workers").noconvert() = py::none(),
           py::arg("max_workers").noconvert() = py::none(),
           py::arg("max_samples").noconvert() = py::none());

  using Decision = MatchingMarket::Decision;
  py::class_<Decision>(m, "MatchingDecision", "The decision of a matching market.")
      .def_property_readonly("counts", [](const Decision& d) { return copy_of(d.counts); })
      .def_property_readonly("job_s", [](const Decision& d) { return copy_of(d.job_s); })
      .def_property_readonly("equal_s", [](const Decision& d) { return copy_of(d.equal_s); })
      .def_property_readonly("price", [](const Decision& d) { return copy_of(d.price); })
      .def_readonly("mean_s", &Decision::mean_s)
      .def_readonly("score", &Decision::score)
      .def_readonly("lower_bound_s", &Decision::lower_bound_s)
      .def_readonly("fairness", &Decision::fairness)
      .def_readonly("sampled_score", &Decision::sampled_score)
      .def_readonly("num_categories", &Decision::num_categories)
      .def_readonly("num_tried", &Decision::num_tried)
      .def_readonly("num_pruned", &Decision::num_pruned)
      .def_readonly("is_exhaustive", &Decision::is_exhaustive)
      .def_readonly("is_kept", &Decision::is_kept);
  py::class_<LastingMarket>(m, "MatchingMarket",
                            "A market that assigns workers to jobs; for one thread at a time.")
      .def(py::init([] { return LastingMarket{std::make_unique<MatchingMarket>()}; }))
      .def(
          "solve",
          [](LastingMarket& self, const MatchingColumns& problem, const Options& options) {
            SignalCheck signals;
            return decide(self, problem, options, signals);
          },
          py::arg("problem"), py::arg("options"), "Decide; Ctrl-C interrupts.")
      .def(
          "solve",
          [](LastingMarket& self, const MatchingColumns& problem, const Options& options,
             const RunControl& control) {
            ControlCheck asked(control);
            return decide(self, problem, options, asked);
          },
          py::arg("problem"), py::arg("options"), py::arg("control"));
  py::class_<ExactMarket::Result>(m, "ExactMatching", "The optimal decision, with its proof.")
      .def_property_readonly("counts",
                             [](const ExactMarket::Result& r) { return copy_of(r.counts); })
      .def_property_readonly("job_s", [](const ExactMarket::Result& r) { return copy_of(r.job_s); })
      .def_readonly("mean_s", &ExactMarket::Result::mean_s)
      .def_readonly("lower_bound_s", &ExactMarket::Result::lower_bound_s)
      .def_readonly("num_searched", &ExactMarket::Result::num_searched)
      .def_readonly("num_branched", &ExactMarket::Result::num_branched)
      .def_readonly("num_steps", &ExactMarket::Result::num_steps)
      .def_readonly("is_optimal", &ExactMarket::Result::is_optimal);
  m.def(
      "exact_matching",
      [](const MatchingColumns& problem, const Options& values, const RunControl& control,
         double tolerance, std::int64_t max_steps) {
        const MatchingMarket::Options options = matching_options(values);
        const MatchingProblem view = problem.problem();
        const py::gil_scoped_release unlocked;  // no Python object is touched below
        ExactMarket market;
        return market.solve(view, options, {tolerance, max_steps}, control);
      },
      py::arg("problem"), py::arg("options"), py::arg("control"), py::arg("tolerance") = 1e-9,
      py::arg("max_steps") = 1000000);
  m.def("split_batch", &split<double>, py::arg("global_batch"), py::arg("rates").noconvert(),
        py::arg("max_samples").noconvert(), py::arg("is_equal"),
        "Return the samples of each worker, and whether all samples were assigned.");
  m.def("split_whole_batch", &split<std::int64_t>, py::arg("global_batch"),
        py::arg("rates").noconvert(), py::arg("max_samples").noconvert(), py::arg("is_equal"),
        "The same in whole samples.");
}

}  // namespace gpusched::bindings
