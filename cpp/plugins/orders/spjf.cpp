#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct StrictDuration {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const { return view.predicted_duration(job); }
};

using StrictDurationOrder = KeyOrder<StrictDuration>;
GPUSCHED_REGISTER(
    Order, StrictDurationOrder, .name = "spjf",
    .summary = "Shortest predicted job first; one that does not fit blocks the others.",
    .source = "Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563).",
    .flags = {Flag::strict, Flag::clairvoyant})

}  // namespace gpusched
