#include "base/registry.hpp"
#include "seams/placement.hpp"

namespace gpusched {
namespace {

/// The cluster as one pool: any gang that the free GPUs cover, wherever they are.
class Count final : public Placement {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (request.gpus > free.num_free()) return false;
    out.reset(request.gpus);
    return true;
  }
};

}  // namespace

GPUSCHED_REGISTER(Placement, Count, .name = "count",
                  .summary = "One pool of GPUs without servers: the idealised cluster.",
                  .source = "Common idealisation (Tiresias simulator, scheme count).",
                  .flags = {Flag::pooled, Flag::scatters})

}  // namespace gpusched
