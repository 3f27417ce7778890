#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct Width {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return static_cast<double>(view.gpus(job));
  }
};

using WidthOrder = KeyOrder<Width>;
GPUSCHED_REGISTER(Order, WidthOrder, .name = "sgf",
                  .summary = "Smallest gang first, by number of GPUs.",
                  .source = "Called sjf in the Tiresias simulator (NSDI 2019).",
                  .flags = {Flag::skip})

}  // namespace gpusched
