#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct ConservingWorkload {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const {
    return static_cast<double>(view.gpus(job)) * view.predicted_duration(job);
  }
};

using ConservingWorkloadOrder = KeyOrder<ConservingWorkload>;
GPUSCHED_REGISTER(Order, ConservingWorkloadOrder, .name = "wcs-workload",
                  .summary = "Work conserving: whatever fits, smallest predicted workload first.",
                  .source = "Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563).",
                  .flags = {"skip", "clairvoyant"})

}  // namespace gpusched
