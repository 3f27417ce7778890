#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct SubmitTime {
  static constexpr KeyLifetime kLifetime = KeyLifetime::fixed;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return key_of(view.submit(job));
  }
};

using SubmitOrder = KeyOrder<SubmitTime>;
GPUSCHED_REGISTER(Order, SubmitOrder, .name = "fifo",
                  .summary = "First come, first served; the head of the line blocks.",
                  .source = "Common practice (Slurm without backfill, YARN FIFO).",
                  .flags = {Flag::strict})

}  // namespace gpusched
