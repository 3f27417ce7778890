#include "base/registry.hpp"
#include "gangs/gpu_binding_scheduler.hpp"

namespace gpusched {
namespace {

class LeastBusyGangs final : public GpuBindingScheduler {
 public:
  explicit LeastBusyGangs(const Parameters& parameters)
      : GpuBindingScheduler({.narrow = Packing::least_busy, .wide = Packing::least_busy},
                            parameters) {}
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, LeastBusyGangs, .name = "ls",
    .summary = "The GPUs with the least work bound to them, under a cap. Chooses GPUs itself.",
    .source = "Baseline of Yu, Ji, Rajan, Liu, MobiHoc 2022.",
    .differs =
        "A run has no cap on busy time, where the paper plans a batch under the tightest: theta_s sets one.",
    .flags = {Flag::clairvoyant, Flag::places, Flag::offline},
    .parameters = GpuBindingScheduler::parameters(false))

}  // namespace gpusched
