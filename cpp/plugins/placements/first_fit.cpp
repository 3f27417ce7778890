#include <algorithm>

#include "base/registry.hpp"
#include "placing/packing_placement.hpp"

namespace gpusched {
namespace {

struct AnyServer : PackingRule {
  [[nodiscard]] double score(const Occupancy& /*free*/, ServerId /*server*/,
                             const Ask& /*ask*/) const noexcept {
    return 0;
  }
  [[nodiscard]] double least_score(int /*level*/, const Ask& /*ask*/) const noexcept { return 0; }
};

class FirstFit final : public DemandPlacement<AnyServer> {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    const ServerId whole = free.next_fitting(request.types, request.gpus, -1);
    if (whole >= 0) {
      out.pieces.push_back(free.lowest_free(whole, request.gpus));
      return true;
    }
    ServerId server = -1;
    for (int rest = request.gpus; rest > 0;) {
      server = free.next_fitting(request.types, 1, server);
      const int taken = std::min(rest, free.free_gpus(server));
      out.pieces.push_back(free.lowest_free(server, taken));
      rest -= taken;
    }
    return true;
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, FirstFit, .name = "first-fit",
    .summary = "The first server that fits the job; otherwise the servers in order of ID.",
    .source = "Johnson, Near-Optimal Bin Packing Algorithms, 1973.",
    .flags = {Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
