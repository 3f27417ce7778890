#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

/// Jobs are numbered by submit, so ties decide alone.
struct NoKey {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& /*view*/, JobId /*job*/) const noexcept { return 0; }
};

using NumberOrder = KeyOrder<NoKey>;
GPUSCHED_REGISTER(Order, NumberOrder, .name = "fifo-skip",
                  .summary = "First come, first served; what does not fit is passed over.",
                  .source = "Tiresias fjf (NSDI 2019); Kueue BestEffortFIFO.",
                  .flags = {"skip"})

}  // namespace gpusched
