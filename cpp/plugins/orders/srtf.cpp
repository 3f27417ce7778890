#include "base/registry.hpp"
#include "seams/order.hpp"

namespace gpusched {

struct RemainingService {
  static constexpr KeyLifetime kLifetime = KeyLifetime::service;
  static constexpr bool kIsRemainingService = true;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return exact_key(view.remaining(job).count());
  }
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    return remaining_line(view, job);
  }
};

using RemainingServiceOrder = KeyOrder<RemainingService>;
GPUSCHED_REGISTER(Order, RemainingServiceOrder, .name = "srtf",
                  .summary = "Shortest remaining run time first.",
                  .source = "Schrage, Operations Research 16, 1968; Tiresias shortest.",
                  .flags = {Flag::preemptive, Flag::clairvoyant},
                  .preemption = {.one_per_arrival = true, .reason = kNeverOvertaken})

}  // namespace gpusched
