#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct StrictWorkload {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const {
    return static_cast<double>(view.gpus(job)) * view.predicted_duration(job);
  }
};

using StrictWorkloadOrder = KeyOrder<StrictWorkload>;
GPUSCHED_REGISTER(
    Order, StrictWorkloadOrder, .name = "spwf",
    .summary = "Smallest predicted workload first; one that does not fit blocks the others.",
    .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
    .flags = {Flag::strict, Flag::clairvoyant})

}  // namespace gpusched
