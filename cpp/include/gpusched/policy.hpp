#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "gpusched/contention.hpp"
#include "gpusched/order.hpp"
#include "gpusched/parameters.hpp"
#include "gpusched/placement.hpp"
#include "gpusched/registry.hpp"
#include "gpusched/scheduler.hpp"
#include "gpusched/speed.hpp"

namespace gpusched {

/// All parameters of the order `info` describes: its own and those of its list scheduler.
[[nodiscard]] std::vector<ParameterInfo> policy_parameters(const PluginInfo& info);

/// The scheduler of a registered policy: a scheduler of that name, or an order of that name in a
/// list scheduler. Throws InvalidInput for an unknown name or parameter.
[[nodiscard]] std::unique_ptr<Scheduler> make_scheduler(std::string_view name,
                                                        const Parameters::Values& values,
                                                        const Placement& placement,
                                                        const JobTable& jobs);

/// The list scheduler for an order that is not registered here, as the flags of `info` ask.
[[nodiscard]] std::unique_ptr<Scheduler> make_list_scheduler(const PluginInfo& info,
                                                             std::unique_ptr<Order> order,
                                                             const Parameters& parameters,
                                                             const Placement& placement,
                                                             const JobTable& jobs);

/// Each throws InvalidInput for an unknown name or parameter.
[[nodiscard]] std::unique_ptr<Placement> make_placement(std::string_view name,
                                                        const Parameters::Values& values);
[[nodiscard]] std::unique_ptr<Speed> make_speed(std::string_view name,
                                                const Parameters::Values& values);
[[nodiscard]] std::unique_ptr<Contention> make_contention(std::string_view name,
                                                          const Parameters::Values& values);

}  // namespace gpusched
