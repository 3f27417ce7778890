#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct ServicePerWeight {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return key_of(view.predicted(job)) / view.weight(job);
  }
};

using ServicePerWeightOrder = KeyOrder<ServicePerWeight>;
GPUSCHED_REGISTER(Order, ServicePerWeightOrder, .name = "wspt",
                  .summary = "Weighted shortest processing time: predicted service over weight.",
                  .source = "Smith, Naval Research Logistics Quarterly 3, 1956.",
                  .flags = {Flag::skip, Flag::clairvoyant})

}  // namespace gpusched
