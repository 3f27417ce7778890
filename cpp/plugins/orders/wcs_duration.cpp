#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct ConservingDuration {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const {
    return view.predicted_duration(job);
  }
};

using ConservingDurationOrder = KeyOrder<ConservingDuration>;
GPUSCHED_REGISTER(Order, ConservingDurationOrder, .name = "wcs-duration",
                  .summary = "Work conserving: whatever fits, shortest predicted job first.",
                  .source = "Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563).",
                  .flags = {"skip", "clairvoyant"})

}  // namespace gpusched
