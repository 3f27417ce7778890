#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct PredictedService {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return key_of(view.predicted(job));
  }
};

using PredictedServiceOrder = KeyOrder<PredictedService>;
GPUSCHED_REGISTER(Order, PredictedServiceOrder, .name = "sjf",
                  .summary = "Shortest job first, by predicted service.",
                  .source = "Conway, Maxwell, Miller, Theory of Scheduling, 1967.",
                  .flags = {Flag::skip, Flag::clairvoyant})

}  // namespace gpusched
