#include "runs/policy.hpp"

#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "preemption/kinetic_scheduler.hpp"
#include "preemption/pooled_srpt.hpp"
#include "preemption/preemptive_scheduler.hpp"
#include "queueing/list_scheduler.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// Whether PooledSrpt gives the same schedule as the general scheduler would.
bool is_pooled_srpt(const Order& order, const Parameters& parameters, const Placement& placement,
                    const JobTable& jobs) {
  return !takes_slow_twins && order.is_remaining_service() && placement.is_pooled() &&
         jobs.is_clairvoyant() && !jobs.has_precedences() && !jobs.has_restart_costs() &&
         parameters.text("scan") == "skip" && parameters.text("epoch") == "event" &&
         parameters.number("period_s") == 0 && parameters.number("cost_s") == 0 &&
         parameters.number("overrun_s") == 0 && parameters.number("wide_cost_s") <= 0;
}

}  // namespace

std::vector<ParameterInfo> policy_parameters(const PluginInfo& info) {
  std::vector<ParameterInfo> all = info.parameters;
  const auto append = [&](std::vector<ParameterInfo> more) {
    for (auto& parameter : more) {
      bool is_own = false;
      for (const auto& own : info.parameters) is_own = is_own || own.name == parameter.name;
      if (!is_own) all.push_back(std::move(parameter));
    }
  };
  if (info.has(Flag::preemptive)) {
    append(PreemptiveScheduler::parameters());
  } else if (info.has(Flag::strict) || info.has(Flag::skip)) {
    append(ListScheduler::parameters(info.has(Flag::strict)));
  }
  return all;
}

PreemptionBound policy_preemption(const PluginInfo& info) {
  if (!info.has(Flag::preemptive)) return {};
  PreemptionBound bound = PreemptiveScheduler::preemption();
  bound.per_entry = info.preemption.per_entry;
  bound.one_per_arrival = info.preemption.one_per_arrival;
  if (!info.preemption.reason.empty()) bound.reason = info.preemption.reason;
  return bound;
}

Owned<Scheduler> make_list_scheduler(const PluginInfo& info, Owned<Order> order,
                                     const Parameters& parameters, const Placement& placement,
                                     const JobTable& jobs) {
  if (!info.has(Flag::preemptive)) {
    return std::make_unique<ListScheduler>(std::move(order), parameters);
  }
  if (is_pooled_srpt(*order, parameters, placement, jobs)) return std::make_unique<PooledSrpt>();
  const bool is_strict = parameters.text("scan") == "strict";
  return std::make_unique<KineticScheduler>(std::make_unique<PreemptiveScheduler>(std::move(order),
                                                                                  parameters),
                                            is_strict ? ChoiceRule::strict : ChoiceRule::skip,
                                            parameters);
}

Owned<Scheduler> make_scheduler(std::string_view name, const Parameters::Values& values,
                                const Placement& placement, const JobTable& jobs) {
  const AliasInfo* alias = Registry<Order>::find_alias(name);
  if (alias == nullptr) alias = Registry<Scheduler>::find_alias(name);
  if (alias != nullptr) {
    return make_scheduler(alias->target, alias->with_defaults(values), placement, jobs);
  }
  const std::string owner = "policy " + std::string(name);
  if (const auto* entry = Registry<Scheduler>::find(name)) {
    return entry->make(entry->info.read(owner, values));
  }
  if (const auto* entry = Registry<Order>::find(name)) {
    const Parameters parameters = entry->info.read(owner, values, policy_parameters(entry->info));
    return make_list_scheduler(entry->info, entry->make(parameters), parameters, placement, jobs);
  }
  fail_input("policy: unknown name '" + std::string(name) + "'");
}

}  // namespace gpusched
