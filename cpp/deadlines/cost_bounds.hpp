#pragma once

#include <cstdint>
#include <span>

#include "deadlines/plan.hpp"
#include "deadlines/planner.hpp"
#include "deadlines/promise_runs.hpp"

namespace gpusched {

/// The GPU type and the slots [begin, end) that are in the way of a job; -1: none are.
struct Scarcity {
  int type = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int free = 0;  ///< GPUs, at most, that are not promised
};

/// At least this at present prices, whatever the plan. Much faster than to find one.
[[nodiscard]] double least_cost(const DeadlinePlanner& planner, const PlanQuery& query);
/// Price of a slot's length of service, at least, whatever is promised.
[[nodiscard]] double least_price(const Prices& prices,
                                 std::span<const PlanConfiguration> configurations);

/// No schedule of the whole window costs less at the planner's prices of what is promised: every
/// quantum that is begun counts as done, changes take no time, there is room for everybody, and
/// what rounding may have added is taken off. Windows of more than 64 slots: the linear relaxation.
[[nodiscard]] double optimistic_cost(const DeadlinePlanner& planner, const PromiseRuns& promised,
                                     const PlanQuery& query);

/// Which GPUs are gone in the job's window for longest, or promised most.
[[nodiscard]] Scarcity scarcest(const DeadlinePlanner& planner, const PlanQuery& query);

}  // namespace gpusched
