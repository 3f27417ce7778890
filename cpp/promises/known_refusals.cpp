#include "promises/known_refusals.hpp"

namespace gpusched {

void KnownRefusals::clear() noexcept {
  by_failed_.clear();
  by_plan_.clear();
}

void KnownRefusals::add(const SlotPlan& plan, const Refusal& refusal) {
  const auto [known, is_new] = by_plan_.try_emplace(plan.stretches, refusal);
  if (is_new) {
    by_failed_.emplace(refusal.failed, known);
  } else if (known->second.failed == refusal.failed) {
    known->second = refusal;
  }
}

bool KnownRefusals::has(const SlotPlan& plan, double key) const {
  const auto known = by_plan_.find(plan.stretches);
  return known != by_plan_.end() && known->second.newcomer <= key && key < known->second.pushed;
}

void KnownRefusals::forget_behind(double key) {
  const auto first = by_failed_.upper_bound(key);
  for (auto known = first; known != by_failed_.end(); ++known) by_plan_.erase(known->second);
  by_failed_.erase(first, by_failed_.end());
}

}  // namespace gpusched
