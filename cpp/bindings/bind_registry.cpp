#include <pybind11/stl.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "bindings.hpp"
#include "model/job_classes.hpp"
#include "runs/policy.hpp"
#include "seams/contention.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"

namespace gpusched::bindings {
namespace {

using Fields = py::typing::Dict<py::str, py::object>;
using TextFields = py::typing::Dict<py::str, py::str>;

const char* type_name(const ParameterValue& value) {
  static constexpr const char* kNames[] = {"bool", "int", "float", "str", "list"};
  return kNames[value.index()];
}

Fields describe(const ParameterInfo& info) {
  Fields fields;
  fields["name"] = info.name;
  fields["type"] = type_name(info.fallback);
  fields["default"] = info.fallback;
  fields["minimum"] = info.minimum;
  fields["maximum"] = info.maximum;
  fields["least_positive"] = info.least_positive;
  fields["choices"] = info.choices;
  fields["help"] = info.help;
  if (const auto added = names_of(info.flags); !added.empty()) {
    py::dict by_value;
    by_value[py::bool_(true)] = py::tuple(py::cast(added));
    fields["flags"] = by_value;
  }
  return fields;
}

Fields describe(const PreemptionBound& bound) {
  Fields fields;
  fields["at_arrivals"] = bound.at_arrivals;
  fields["at_finishes"] = bound.at_finishes;
  fields["period"] = bound.period;
  fields["per_entry"] = bound.per_entry;
  fields["least_run"] = bound.least_run;
  fields["one_per_arrival"] = bound.one_per_arrival;
  fields["reason"] = bound.reason;
  return fields;
}

Fields describe(const char* kind, const PluginInfo& info) {
  Fields fields;
  fields["kind"] = kind;
  fields["name"] = info.name;
  fields["summary"] = info.summary;
  fields["source"] = info.source;
  fields["differs"] = info.differs;
  fields["flags"] = names_of(info.flags);
  fields["preemption"] = describe(info.preemption);
  fields["columns"] = info.columns;
  fields["optional_columns"] = info.optional_columns;
  py::list all;
  for (const auto& parameter : info.parameters) all.append(describe(parameter));
  fields["parameters"] = all;
  return fields;
}

/// With what the list scheduler adds to an order.
template <class Seam>
PluginInfo completed(PluginInfo info) {
  if constexpr (std::is_same_v<Seam, Order>) {
    info.parameters = policy_parameters(info);
    info.preemption = policy_preemption(info);
    info.flags = info.flags.with(Flag::outages).with(Flag::priorities);
  }
  return info;
}

template <class Seam>
void append(py::list& all, const char* kind) {
  for (const auto& [name, entry] : Registry<Seam>::entries()) {
    all.append(describe(kind, completed<Seam>(entry.info)));
  }
  for (const auto& [name, alias] : Registry<Seam>::aliases()) {
    const auto* target = Registry<Seam>::find(alias.target);
    if (target == nullptr) {
      throw InvariantError("alias '" + name + "': no " + kind + " '" + alias.target + "'");
    }
    Fields fields = describe(kind, alias.described(completed<Seam>(target->info)));
    fields["target"] = alias.target;
    fields["values"] = alias.values;
    all.append(fields);
  }
}

py::typing::List<Fields> registry() {
  py::list all;
  append<Order>(all, "order");
  append<Scheduler>(all, "scheduler");
  append<Placement>(all, "placement");
  append<Speed>(all, "speed");
  append<Contention>(all, "contention");
  return all;
}

py::typing::List<TextFields> flags() {
  py::list all;
  for (const FlagText& text : flag_texts()) {
    TextFields fields;
    fields["name"] = text.name;
    fields["meaning"] = text.meaning;
    fields["kinds"] = text.kinds;
    fields["python_kinds"] = text.python_kinds;
    all.append(fields);
  }
  return all;
}

}  // namespace

void bind_registry(py::module_& m) {
  m.def("registry", &registry,
        "Return every registered plug-in; an alias has its `target` and the `values` it sets.");
  m.def(
      "list_parameters",
      [](bool is_preemptive, bool is_strict) {
        PluginInfo info;
        info.flags = {is_preemptive ? Flag::preemptive : is_strict ? Flag::strict : Flag::skip};
        py::typing::List<Fields> all;
        for (const auto& parameter : policy_parameters(info)) all.append(describe(parameter));
        return all;
      },
      py::arg("is_preemptive"), py::arg("is_strict"),
      "Return the parameters that the list scheduler adds to an order.");
  m.def(
      "list_preemption",
      [](bool is_preemptive) {
        PluginInfo info;
        if (is_preemptive) info.flags = {Flag::preemptive};
        return describe(policy_preemption(info));
      },
      py::arg("is_preemptive"), "Return when the list scheduler may preempt under an order.");
  m.def("flags", &flags,
        "Return every flag: its name, its meaning, and the kinds of plug-ins that may have it\n"
        "(`python_kinds`: if written in Python), separated by spaces.");
  py::list reasons;
  for (const char* reason : kRejectReasons) reasons.append(reason);
  m.attr("REJECT_REASONS") = py::tuple(reasons);
}

}  // namespace gpusched::bindings
