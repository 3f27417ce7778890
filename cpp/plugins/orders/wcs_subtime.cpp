#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct WorkConservingSubmit {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const {
    return key_of(view.submit(job));
  }
};

using WorkConservingSubmitOrder = KeyOrder<WorkConservingSubmit>;
GPUSCHED_REGISTER(Order, WorkConservingSubmitOrder, .name = "wcs-subtime",
                  .summary = "Work conserving: whatever fits, first come first.",
                  .source = "Luo, Liu, Lee, Shroff, INFOCOM 2025 (arXiv 2501.05563).",
                  .flags = {"skip"})

}  // namespace gpusched
