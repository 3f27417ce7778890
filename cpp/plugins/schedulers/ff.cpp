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
    .summary = "First fit: the lowest-numbered GPUs under a cap on busy time. Chooses GPUs itself.",
    .source = "Baseline of Yu, Ji, Rajan, Liu, MobiHoc 2022.",
    .differs =
        "No cap on busy time unless theta_s sets one; the paper plans a batch under the "
        "tightest cap.",
    .flags = {Flag::places, Flag::offline}, .parameters = GpuBindingScheduler::parameters(false))

}  // namespace gpusched
