#include "dancer/open_bounds.hpp"

#include <algorithm>

#include "deadlines/cost_bounds.hpp"

namespace gpusched {
namespace {

bool is_met(const OpenJob& job, Time now, double rate) noexcept {
  return job.deadline > now && ticks_of(job.deadline - now) * rate >= job.work;
}

}  // namespace

void OpenBounds::begin() {
  bounds_.clear();
  num_borders_ = num_changes_ = 0;
}

void OpenBounds::open(const DeadlinePlanner& planner, const ConfigurationSets& sets) {
  planner_ = &planner;
  sets_ = &sets;
  ++num_borders_;
  for (auto set = static_cast<std::uint32_t>(bounds_.size()); set < sets.size(); ++set) {
    Bound& bound = bounds_.emplace_back();
    for (const PlanConfiguration& c : sets.at(set)) {
      bound.greatest_rate = std::max(bound.greatest_rate, c.rate);
    }
  }
}

double OpenBounds::least_cost(const OpenJob& job) {
  Bound& bound = bounds_[job.set];
  if (bound.priced != num_borders_) {
    bound.priced = num_borders_;
    bound.price = least_price(planner_->prices(), sets_->at(job.set));
  }
  return bound.price * job.work / ticks_of(planner_->options().slot);
}

bool OpenBounds::is_in_time(const OpenJob& job, Time now) {
  return is_met(job, now, bounds_[job.set].greatest_rate);
}

void OpenBounds::leave(std::span<const std::int64_t> spare) {
  spare_.assign(spare.begin(), spare.end());
  ++num_changes_;
}

double OpenBounds::greatest_rate_left(std::uint32_t set) {
  Bound& bound = bounds_[set];
  if (bound.counted == num_changes_) return bound.left;
  bound.counted = num_changes_;
  bound.left = 0.0;
  for (const PlanConfiguration& c : sets_->at(set)) {
    if (c.gpus <= spare_[static_cast<std::size_t>(c.type)]) {
      bound.left = std::max(bound.left, c.rate);
    }
  }
  return bound.left;
}

bool OpenBounds::might_rescue(const OpenJob& job, Time now) {
  return is_met(job, now, greatest_rate_left(job.set));
}

}  // namespace gpusched
