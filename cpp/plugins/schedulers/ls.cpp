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
    .summary = "The least busy GPUs under a cap on busy time. Chooses GPUs itself.",
    .source = "Baseline of Yu, Ji, Rajan, Liu, MobiHoc 2022.",
    .differs =
        "No cap on busy time unless theta_s sets one; the paper plans a batch under the "
        "tightest cap.",
    .flags = {Flag::clairvoyant, Flag::places, Flag::offline},
    .parameters = GpuBindingScheduler::parameters(false))

}  // namespace gpusched
