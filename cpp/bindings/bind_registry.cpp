#include <pybind11/stl.h>

#include "bindings.hpp"
#include "listing/policy.hpp"
#include "model/job_classes.hpp"

namespace gpusched::bindings {
namespace {

using Fields = py::typing::Dict<py::str, py::object>;

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
  fields["choices"] = info.choices;
  fields["help"] = info.help;
  return fields;
}

Fields describe(const char* kind, const PluginInfo& info,
                const std::vector<ParameterInfo>& parameters) {
  Fields fields;
  fields["kind"] = kind;
  fields["name"] = info.name;
  fields["summary"] = info.summary;
  fields["source"] = info.source;
  fields["flags"] = info.flags;
  fields["columns"] = info.columns;
  fields["optional_columns"] = info.optional_columns;
  py::list all;
  for (const auto& parameter : parameters) all.append(describe(parameter));
  fields["parameters"] = all;
  return fields;
}

template <class Seam>
void append_simple(py::list& all, const char* kind) {
  for (const auto& [name, entry] : Registry<Seam>::entries()) {
    all.append(describe(kind, entry.info, entry.info.parameters));
  }
}

py::typing::List<Fields> registry() {
  py::list all;
  for (const auto& [name, entry] : Registry<Order>::entries()) {
    all.append(describe("order", entry.info, policy_parameters(entry.info)));
  }
  append_simple<Scheduler>(all, "scheduler");
  append_simple<Placement>(all, "placement");
  append_simple<Speed>(all, "speed");
  append_simple<Contention>(all, "contention");
  return all;
}

}  // namespace

void bind_registry(py::module_& m) {
  m.def("registry", &registry, "Every native plug-in: kind, name, flags, parameters, source.");
  m.def(
      "list_parameters",
      [](bool is_preemptive, bool is_strict) {
        PluginInfo info;
        info.flags = {is_preemptive ? "preemptive" : is_strict ? "strict" : "skip"};
        py::typing::List<Fields> all;
        for (const auto& parameter : policy_parameters(info)) all.append(describe(parameter));
        return all;
      },
      py::arg("is_preemptive"), py::arg("is_strict"),
      "The parameters that the list scheduler adds to an order.");
  py::list reasons;
  for (const char* reason : kRejectReasons) reasons.append(reason);
  m.attr("REJECT_REASONS") = py::tuple(reasons);
}

}  // namespace gpusched::bindings
