#include <bit>

#include "base/registry.hpp"
#include "placing/packing.hpp"

namespace gpusched {
namespace {

struct GpuPackingRule : PackingRule {
  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    const int size = free.cluster().gpus(server);
    if (free.free_gpus(server) == size) return kIdle + size;
    if (ask.demand.is_share()) {
      const Piece piece = tight_piece(free, server, ask);
      const int milli = free.free_milli(server, std::countr_zero(piece.mask));
      if (milli < kWholeGpu) return milli;
    }
    return kUsed + static_cast<double>(Capacities::free_milli(free, server));
  }

  static constexpr double kUsed = 1e6;  // above any part of a GPU
  static constexpr double kIdle = 2e6;  // above any part of a server
};

using GpuPacking = PackingPlacement<GpuPackingRule>;

}  // namespace

GPUSCHED_REGISTER(
    Placement, GpuPacking, .name = "gpu-packing",
    .summary = "Partly used GPUs first, then free ones of used servers, idle servers last.",
    .source = "Weng et al., MLaaS in the Wild, NSDI 2022.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates})

}  // namespace gpusched
