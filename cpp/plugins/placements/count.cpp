#include "base/registry.hpp"
#include "seams/placement.hpp"

namespace gpusched {
namespace {

/// The cluster as a single pool: accepts any job that the free GPUs cover.
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
                  .summary = "A single pool of GPUs: ignores servers and locality.",
                  .source = "Common idealisation (Tiresias simulator, scheme count).",
                  .flags = {Flag::pooled, Flag::scatters})

}  // namespace gpusched
