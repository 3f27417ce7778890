#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct EarliestDeadline {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    const Time deadline = view.deadline(job);
    return deadline == kNever ? kLastKey : exact_key(deadline.count());
  }
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    const Time deadline = view.deadline(job);
    return {deadline == kNever ? kMaxTicks + 1 : deadline.count()};
  }
};

using EarliestDeadlineOrder = KeyOrder<EarliestDeadline>;
GPUSCHED_REGISTER(
    Order, EarliestDeadlineOrder, .name = "edf",
    .summary = "Earliest deadline first; jobs without a deadline last, by submit time.",
    .source = "Liu, Layland, Journal of the ACM 20, 1973.",
    .flags = {Flag::preemptive, Flag::deadlines},
    .preemption = {.one_per_arrival = true, .reason = kNeverOvertaken})

}  // namespace gpusched
