#include "base/registry.hpp"
#include "gangs/gpu_binding_scheduler.hpp"

namespace gpusched {
namespace {

class RandomGangs final : public GpuBindingScheduler {
 public:
  explicit RandomGangs(const Parameters& parameters)
      : GpuBindingScheduler({.narrow = Packing::random, .wide = Packing::random}, parameters) {}
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, RandomGangs, .name = "rand",
    .summary = "Uniformly random GPUs under a cap on busy time, seeded. Chooses GPUs itself.",
    .source = "Baseline of Yu, Ji, Rajan, Liu, MobiHoc 2022.",
    .differs = "No cap on busy time unless theta_s sets one; the paper plans a batch under a cap.",
    .flags = {Flag::random, Flag::places, Flag::offline},
    .parameters = GpuBindingScheduler::parameters(false))

}  // namespace gpusched
