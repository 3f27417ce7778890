#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "model/job_table.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// All parameters of the order `info` describes: its own and those of its list scheduler.
[[nodiscard]] std::vector<ParameterInfo> policy_parameters(const PluginInfo& info);

/// When the policy that `info` describes may take GPUs back: as an order says, in its list scheduler.
[[nodiscard]] PreemptionBound policy_preemption(const PluginInfo& info);

/// The scheduler of a registered policy: a scheduler, or an order in a list scheduler, of that name
/// or alias. Throws InvalidInput for an unknown name or parameter.
[[nodiscard]] Owned<Scheduler> make_scheduler(std::string_view name,
                                              const Parameters::Values& values,
                                              const Placement& placement, const JobTable& jobs);

/// The list scheduler for an order that is not registered here, as the flags of `info` ask.
[[nodiscard]] Owned<Scheduler> make_list_scheduler(const PluginInfo& info, Owned<Order> order,
                                                   const Parameters& parameters,
                                                   const Placement& placement,
                                                   const JobTable& jobs);

}  // namespace gpusched
