#include "runs/vector_environment.hpp"

#include <string>
#include <utility>

#include "base/check.hpp"

namespace gpusched {

VectorEnvironment::VectorEnvironment(const Cluster& cluster, EnvironmentRules rules,
                                     std::size_t num_lanes)
    : cluster_(cluster),
      rules_(std::move(rules)),
      num_features_(rules_.num_slots * Environment::kJobFeatures + Environment::kClusterFeatures) {
  if (num_lanes == 0) fail_input("num_lanes: must be at least 1");
  if (rules_.num_slots == 0) fail_input("num_slots: must be at least 1");
  runs_.resize(num_lanes);
  features_.assign(num_lanes * num_features_, 0.0F);
  allowed_.assign(num_lanes * num_answers(), 0);
  rewards_.assign(num_lanes, 0.0);
  is_over_.assign(num_lanes, 0);
  was_allowed_.assign(num_lanes, 1);
}

const Environment& VectorEnvironment::run(std::size_t lane) const {
  if (lane >= runs_.size() || runs_[lane] == nullptr) {
    fail_input("lane: " + std::to_string(lane) + " has no run");
  }
  return *runs_[lane];
}

void VectorEnvironment::begin(std::size_t lane, const JobTable& jobs, std::uint64_t num_feasible,
                              std::uint64_t seed) {
  if (lane >= runs_.size()) {
    fail_input("lane: " + std::to_string(lane) + "; it must be below " +
               std::to_string(runs_.size()));
  }
  EnvironmentRules rules = rules_;
  rules.seed = seed;
  runs_[lane] = std::make_unique<Environment>(jobs, cluster_, rules, num_feasible);
  rewards_[lane] = 0.0;
  was_allowed_[lane] = 1;
  show(lane);
}

void VectorEnvironment::answer(std::span<const std::int64_t> slots) {
  if (slots.size() != runs_.size()) {
    fail_input("slots: " + std::to_string(slots.size()) + " answers for " +
               std::to_string(runs_.size()) + " lanes");
  }
  for (std::size_t lane = 0; lane < runs_.size(); ++lane) static_cast<void>(run(lane));
  for (std::size_t lane = 0; lane < runs_.size(); ++lane) {
    Environment& asked = *runs_[lane];
    rewards_[lane] = 0.0;
    was_allowed_[lane] = 1;
    if (asked.is_over()) continue;
    // A negative answer is not a slot, and waits.
    was_allowed_[lane] = asked.answer(static_cast<std::size_t>(slots[lane])) ? 1 : 0;
    rewards_[lane] = -asked.take_cost();
    show(lane);
  }
}

void VectorEnvironment::show(std::size_t lane) {
  const Environment& shown = run(lane);
  shown.observe(std::span(features_).subspan(lane * num_features_, num_features_));
  shown.allow(std::span(allowed_).subspan(lane * num_answers(), num_answers()));
  is_over_[lane] = shown.is_over() ? 1 : 0;
}

}  // namespace gpusched
