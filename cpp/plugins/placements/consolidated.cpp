#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

class Consolidated final : public DemandPlacement<LeastFreeGpus> {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    return place_consolidated(free, request, out);
  }

  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    return packer_.widest(free, types);
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, Consolidated, .name = "consolidated",
    .summary = "The fewest servers possible, best fit for the remainder; or the job waits.",
    .source = "Jeon et al., ATC 2019 (Philly); Lucid, ASPLOS 2023.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates})

}  // namespace gpusched
