#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct LeastLaxity {
  static constexpr KeyLifetime kLifetime = KeyLifetime::clock;
  // The laxity of waiting jobs falls below that of running ones.
  static constexpr bool kTakesTurns = true;

  double operator()(const QueueView& view, JobId job) const noexcept {
    const Time deadline = view.deadline(job);
    if (deadline == kNever) return kLastKey;
    return exact_key((deadline - view.now() - view.remaining(job)).count());
  }
  /// Plus now, which all jobs share: constant while a job waits.
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    const Time deadline = view.deadline(job);
    if (deadline == kNever) return {kMaxTicks + 1};
    KeyLine line = remaining_line(view, job);
    line.value = deadline.count() - line.value;
    line.slope = -line.slope;
    return line;
  }
};

using LeastLaxityOrder = KeyOrder<LeastLaxity>;
GPUSCHED_REGISTER(
    Order, LeastLaxityOrder, .name = "llf",
    .summary = "Least laxity first: time to the deadline minus the remaining run time.",
    .source = "Mok, PhD thesis, MIT, 1983.",
    .differs =
        "Laxities are compared at events and each period_s while a job waits; in "
        "the source, at every instant.",
    .flags = {Flag::preemptive, Flag::deadlines, Flag::clairvoyant}, .parameters = {turn_period()})

}  // namespace gpusched
