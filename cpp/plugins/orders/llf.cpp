#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct LeastLaxity {
  static constexpr KeyLifetime kLifetime = KeyLifetime::clock;
  // The laxity of who waits falls below that of who runs.
  static constexpr bool kTakesTurns = true;

  double operator()(const QueueView& view, JobId job) const noexcept {
    const Time deadline = view.deadline(job);
    if (deadline == kNever) return kLastKey;
    return exact_key((deadline - view.now() - view.remaining(job)).count());
  }
  /// With now, which all have in common, added: it stands while a job waits.
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
GPUSCHED_REGISTER(Order, LeastLaxityOrder, .name = "llf",
                  .summary = "Least laxity first: time to the deadline less the remaining service.",
                  .source = "Mok, PhD thesis, MIT, 1983.",
                  .differs =
                      "Laxities are compared at events and each period_s while a job waits, where "
                      "the source compares them at every instant.",
                  .flags = {Flag::preemptive, Flag::deadlines, Flag::clairvoyant},
                  .parameters = {turn_period()})

}  // namespace gpusched
