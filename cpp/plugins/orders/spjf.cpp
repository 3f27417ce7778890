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
    .source = "Told to be a baseline of Luo et al., INFOCOM 2025; the rule is ours.",
    .flags = {Flag::strict, Flag::clairvoyant})

}  // namespace gpusched
