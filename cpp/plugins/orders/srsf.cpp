#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct RemainingWork {
  static constexpr KeyLifetime kLifetime = KeyLifetime::service;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return static_cast<double>(view.gpus(job)) * key_of(view.remaining(job));
  }
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    return remaining_work_line(view, job);
  }
};

using RemainingWorkOrder = KeyOrder<RemainingWork>;
GPUSCHED_REGISTER(Order, RemainingWorkOrder, .name = "srsf",
                  .summary = "Shortest remaining GPU time first: GPUs times remaining run time.",
                  .source = "Gu et al., Tiresias (shortest-gpu), NSDI 2019.",
                  .flags = {Flag::preemptive, Flag::clairvoyant},
                  .preemption = {.one_per_arrival = true, .reason = kNeverOvertaken})

}  // namespace gpusched
