#include "matching_columns.hpp"

#include <initializer_list>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.hpp"

namespace gpusched::bindings {
namespace {

template <class Value>
Value one_of(const char* field, const std::string& text,
             std::initializer_list<std::pair<const char*, Value>> known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (text == name) return value;
    names += std::string(names.empty() ? "" : ", ") + name;
  }
  fail_input(std::string(field) + ": '" + text + "' is unknown; allowed: " + names);
}

}  // namespace

MatchingProblem MatchingColumns::problem() const {
  MatchingProblem made;
  made.num_jobs = static_cast<std::int32_t>(rounds.size());
  made.num_classes = static_cast<std::int32_t>(capacity.size());
  made.rate = view(rate, "rates");
  made.capacity = view(capacity, "capacity");
  made.rounds = view(rounds, "rounds");
  made.samples = view(samples, "round_samples");
  made.gradient_bytes = view(gradient_bytes, "gradient_bytes");
  made.bytes_per_s = view(bytes_per_s, "bandwidth_gbps");
  made.waiting_s = view(waiting_s, "waiting_s");
  made.restart_s = view(restart_s, "restart_s");
  made.previous = view(previous, "previous");
  made.min_workers = view(min_workers, "min_workers");
  made.max_workers = view(max_workers, "max_workers");
  made.max_samples = view(max_samples, "max_samples");
  return made;
}

MatchingMarket::Options matching_options(const py::typing::Dict<py::str, py::object>& values) {
  MatchingMarket::Options made;
  const auto text = [&](const char* key) { return values[key].cast<std::string>(); };
  const auto read = [&](const char* key, auto& to) {
    if (values.contains(key)) to = values[key].cast<std::decay_t<decltype(to)>>();
  };
  if (values.contains("split")) {
    made.goal.split = one_of<BatchSplit>("split", text("split"),
                                         {{"proportional", BatchSplit::proportional},
                                          {"equal", BatchSplit::equal}});
  }
  if (values.contains("valuation")) {
    made.market.valuation = one_of<Valuation>("valuation", text("valuation"),
                                              {{"iterated", Valuation::iterated},
                                               {"one-pass", Valuation::one_pass},
                                               {"raw", Valuation::raw}});
  }
  if (values.contains("clearing")) {
    made.market.clearing = one_of<Clearing>("clearing", text("clearing"),
                                            {{"transportation", Clearing::transportation},
                                             {"jonker-volgenant", Clearing::jonker_volgenant},
                                             {"auction", Clearing::auction}});
  }
  if (values.contains("sampler")) {
    made.sampling = one_of<CategorySampling>("sampler", text("sampler"),
                                             {{"seeded", CategorySampling::seeded},
                                              {"uniform", CategorySampling::uniform},
                                              {"enumerate", CategorySampling::enumerate}});
  }
  read("beta", made.goal.beta);
  read("guard", made.goal.guard);
  read("rounds", made.market.rounds);
  read("tolerance", made.market.tolerance);
  read("polish", made.market.polish);
  read("draws", made.draws);
  read("seed", made.seed);
  read("enumerate_up_to", made.enumerate_up_to);
  read("descend", made.descend);
  read("effort", made.effort);
  read("prune", made.prune);
  read("concentration", made.concentration);
  read("hysteresis", made.hysteresis);
  return made;
}

}  // namespace gpusched::bindings
