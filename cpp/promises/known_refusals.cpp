#include "promises/known_refusals.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {
namespace {

/// Plans are compared one by one; those that come again come soon.
constexpr std::size_t kMostKnown = 256;

}  // namespace

void KnownRefusals::add(Refusal refusal) {
  if (known_.size() == kMostKnown) known_.erase(known_.begin());
  known_.push_back(std::move(refusal));
}

bool KnownRefusals::has(const SlotPlan& plan, double key) const {
  return std::any_of(known_.rbegin(), known_.rend(), [&](const Refusal& known) {
    return known.newcomer <= key && key < known.pushed && known.plan == plan;
  });
}

void KnownRefusals::forget_behind(double key) {
  std::erase_if(known_, [&](const Refusal& known) { return known.failed > key; });
}

}  // namespace gpusched
