#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct AttainedService {
  static constexpr KeyLifetime kLifetime = KeyLifetime::service;
  static constexpr bool kTakesTurns = true;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return exact_key(view.attained(job).count());
  }
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    return attained_line(view, job);
  }
};

using AttainedServiceOrder = KeyOrder<AttainedService>;
GPUSCHED_REGISTER(
    Order, AttainedServiceOrder, .name = "las",
    .summary = "Least attained service first; decides each period while a job waits.",
    .source = "Nuyens, Wierman, Performance Evaluation 65, 2008; Tiresias, NSDI 2019.",
    .differs =
        "Jobs with the least service take turns of period_s; in the source they always share "
        "the machine.",
    .flags = {Flag::preemptive}, .parameters = {turn_period()})

}  // namespace gpusched
