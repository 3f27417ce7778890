#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"

namespace gpusched {

[[nodiscard]] inline double ticks_of(Time time) noexcept {
  return static_cast<double>(time.count());
}

/// GPUs of one type that a job can run on, and the service it then gets per time.
struct PlanConfiguration {
  std::int32_t type;
  std::int32_t gpus;
  double rate;

  friend bool operator==(const PlanConfiguration&, const PlanConfiguration&) = default;
};

/// One of the job's configurations in the slots [begin, end).
struct PlanStep {
  std::int64_t begin;
  std::int64_t end;
  std::int32_t configuration;

  friend bool operator==(const PlanStep&, const PlanStep&) = default;
};

/// The remaining work of a job and its present state.
struct PlanQuery {
  std::span<const PlanConfiguration> configurations;
  double work = 0.0;   ///< ticks of service left
  double value = 1.0;  ///< of meeting the deadline
  Time change{0};      ///< without progress where the configuration changes, or runs again
  Time now{0};
  Time deadline{0};
  int current = -1;    ///< the configuration that runs; -1: none
  Time pending{0};     ///< of its change, not yet over
  bool is_fresh = true;  ///< has never run: the first run pays no change
};

/// The outcome of following a sequence of steps.
struct PlanOutcome {
  double done = 0.0;         ///< ticks of service by the deadline
  double greatest_rate = 0.0;  ///< among the configurations used
  /// The first slot after which `enough` was done; the end of the steps if it never is.
  std::int64_t end = 0;
};

/// Follows the steps, which are in order and begin no earlier than the slot of `query.now`, to the
/// deadline. Stops after the slot in which `enough` ticks of service are reached.
[[nodiscard]] PlanOutcome follow(const PlanQuery& query, std::span<const PlanStep> steps, Time slot,
                                 double enough);

/// Drops what the steps hold from slot `end` on.
void cut_from(std::vector<PlanStep>& steps, std::int64_t end);
/// Drops what the steps hold before slot `begin`.
void cut_until(std::vector<PlanStep>& steps, std::int64_t begin);
/// The configuration in the slot; -1 for none.
[[nodiscard]] int configuration_at(std::span<const PlanStep> steps, std::int64_t slot) noexcept;

}  // namespace gpusched
