#include "base/registry.hpp"
#include "gangs/gpu_binding_scheduler.hpp"

namespace gpusched {
namespace {

class FirstFitGangs final : public GpuBindingScheduler {
 public:
  explicit FirstFitGangs(const Parameters& parameters)
      : GpuBindingScheduler({.narrow = Packing::first_fit, .wide = Packing::first_fit},
                            parameters) {}
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, FirstFitGangs, .name = "ff",
    .summary =
        "The lowest GPUs of the lowest servers, under a cap on busy time. Chooses GPUs itself.",
    .source = "Baseline of Yu, Ji, Rajan, Liu, MobiHoc 2022.",
    .differs =
        "A run has no cap on busy time, where the paper plans a batch under the tightest: theta_s sets one.",
    .flags = {Flag::places, Flag::offline}, .parameters = GpuBindingScheduler::parameters(false))

}  // namespace gpusched
