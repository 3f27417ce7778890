#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct PredictedWork {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return static_cast<double>(view.gpus(job)) * key_of(view.predicted(job));
  }
};

using PredictedWorkOrder = KeyOrder<PredictedWork>;
GPUSCHED_REGISTER(Order, PredictedWorkOrder, .name = "swf",
                  .summary = "Smallest work first: GPUs times predicted service.",
                  .source = "The oracle of QSSF: Hu et al., Helios, SC 2021.",
                  .flags = {Flag::skip, Flag::clairvoyant})

}  // namespace gpusched
