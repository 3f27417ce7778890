#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct QuasiShortestService {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const {
    return static_cast<double>(view.gpus(job)) * key_of(view.predicted(job));
  }
};

using QuasiShortestServiceOrder = KeyOrder<QuasiShortestService>;
GPUSCHED_REGISTER(Order, QuasiShortestServiceOrder, .name = "qssf",
                  .summary = "Quasi-shortest service first: GPUs times predicted service; strict.",
                  .source = "Hu et al., Helios, SC 2021.",
                  .flags = {"strict", "clairvoyant"})

}  // namespace gpusched
