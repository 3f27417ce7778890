#include <pybind11/stl.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "deadlines/batch.hpp"
#include "deadlines/prices.hpp"

namespace gpusched::bindings {
namespace {

// A promise takes some bytes in each slot, and a decision some nanoseconds.
constexpr std::int64_t kMaxSlots = std::int64_t{1} << 22;

std::vector<PlanConfiguration> configurations_of(std::span<const std::int32_t> types,
                                                 std::span<const std::int32_t> widths,
                                                 std::span<const double> rates) {
  if (widths.size() != types.size() || rates.size() != types.size()) {
    throw py::value_error("type, gpus and rate must have one length");
  }
  std::vector<PlanConfiguration> all;
  all.reserve(types.size());
  for (std::size_t i = 0; i < types.size(); ++i) all.push_back({types[i], widths[i], rates[i]});
  return all;
}

/// One figure of each entry as a column.
template <class Value, class Entry, class Get>
py::array_t<Value> column_by(const std::vector<Entry>& entries, Get get) {
  return collect<Value>(entries.size(),
                        [&](std::size_t i) { return static_cast<Value>(get(entries[i])); });
}

DeadlinePlans plan(const Column<std::int64_t>& arrival_us, const Column<std::int64_t>& deadline_us,
                   const Column<double>& work, const Column<double>& value,
                   const Column<std::int64_t>& change_us, const Column<std::int64_t>& first,
                   const Column<std::int32_t>& type, const Column<std::int32_t>& gpus,
                   const Column<double>& rate, const Column<std::int64_t>& type_gpus,
                   std::int64_t slot_us, const std::string& prices, int quanta, int segments,
                   bool whole_slots, bool knows, RunControl& control) {
  const auto types = view(type, "type"), widths = view(gpus, "gpus");
  const auto rates = view(rate, "rate");
  DeadlineJobs jobs{view(arrival_us, "arrival_us"),
                    view(deadline_us, "deadline_us"),
                    view(work, "work"),
                    view(value, "value"),
                    view(change_us, "change_us"),
                    view(first, "first"),
                    {}};
  const PlannerOptions options{.slot = Time{slot_us},
                               .prices = price_rule_of(prices),
                               .quanta = quanta,
                               .segments = segments,
                               .whole_slots = whole_slots,
                               .max_slots = kMaxSlots};
  const auto available = view(type_gpus, "type_gpus");
  const py::gil_scoped_release unlocked;  // no Python object is touched below
  jobs.configurations = configurations_of(types, widths, rates);
  return plan_deadlines(jobs, available, options, knows, control);
}

void bind_plans(py::module_& m) {
  py::class_<DeadlinePlans>(m, "DeadlinePlans", "Admission decisions on jobs with deadlines.")
      .def_property_readonly("reason",
                             [](const DeadlinePlans& p) {
                               std::vector<std::string> names;
                               for (const auto v : p.verdicts) names.emplace_back(name_of(v));
                               return names;
                             })
      .def_property_readonly("admitted",
                             [](const DeadlinePlans& p) {
                               return column_by<std::uint8_t>(p.verdicts, [](PlanVerdict v) {
                                 return v == PlanVerdict::found;
                               });
                             })
      .def_property_readonly("cost", [](const DeadlinePlans& p) { return copy_of(p.costs); })
      .def_property_readonly("first", [](const DeadlinePlans& p) { return copy_of(p.first); })
      .def_property_readonly("step_begin",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int64_t>(p.steps, [](const PlanStep& s) {
                                 return s.begin;
                               });
                             })
      .def_property_readonly("step_end",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int64_t>(p.steps, [](const PlanStep& s) {
                                 return s.end;
                               });
                             })
      .def_property_readonly("step_configuration",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int32_t>(p.steps, [](const PlanStep& s) {
                                 return s.configuration;
                               });
                             })
      .def_property_readonly("scarce_type",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int32_t>(p.scarcities, [](const Scarcity& s) {
                                 return s.type;
                               });
                             })
      .def_property_readonly("scarce_begin",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int64_t>(p.scarcities, [](const Scarcity& s) {
                                 return s.begin;
                               });
                             })
      .def_property_readonly("scarce_end",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int64_t>(p.scarcities, [](const Scarcity& s) {
                                 return s.end;
                               });
                             })
      .def_property_readonly("scarce_free",
                             [](const DeadlinePlans& p) {
                               return column_by<std::int32_t>(p.scarcities, [](const Scarcity& s) {
                                 return s.free;
                               });
                             })
      .def_readonly("value", &DeadlinePlans::value)
      .def_readonly("final_price_sum", &DeadlinePlans::final_price_sum)
      .def_readonly("initial_price_sum", &DeadlinePlans::initial_price_sum)
      .def_readonly("payoff_sum", &DeadlinePlans::payoff_sum)
      .def_readonly("upper_bound", &DeadlinePlans::upper_bound)
      .def_readonly("ratio", &DeadlinePlans::ratio)
      .def_readonly("exponent", &DeadlinePlans::exponent);
}

}  // namespace

void bind_deadlines(py::module_& m) {
  bind_plans(m);
  m.def("plan_deadlines", &plan, py::arg("arrival_us").noconvert(),
        py::arg("deadline_us").noconvert(), py::arg("work").noconvert(),
        py::arg("value").noconvert(), py::arg("change_us").noconvert(),
        py::arg("first").noconvert(), py::arg("type").noconvert(), py::arg("gpus").noconvert(),
        py::arg("rate").noconvert(), py::arg("type_gpus").noconvert(), py::arg("slot_us"),
        py::arg("prices"), py::arg("quanta"), py::arg("segments"), py::arg("whole_slots"),
        py::arg("knows"), py::arg("control"),
        "Decide on every job at its arrival, as `dancer` does, without running any.");
}

}  // namespace gpusched::bindings
