#include <algorithm>
#include <bit>

#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/percent_order.hpp"

namespace gpusched {
namespace {

struct GpuPackingRule : PackingRule {
  explicit GpuPackingRule(const Parameters& parameters) : order(parameters) {}

  void begin(const PlacementSetup& setup) { order.begin(setup); }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    if (order.is_asked()) return order.score(percent(free, server, ask), server);
    const int size = free.cluster().gpus(server);
    if (free.free_gpus(server) == size) return kIdle + size;
    const int part = shared_part(free, server, ask);
    return part > 0 ? part : kUsed + static_cast<double>(Capacities::free_milli(free, server));
  }

  [[nodiscard]] bool has_buckets() const noexcept { return !order.is_asked(); }

  /// The authors': the fuller the GPU of a share the better; then used servers, the fewer free GPUs
  /// are taken the better; idle servers last, small ones first.
  [[nodiscard]] static std::int64_t percent(const Occupancy& free, ServerId server,
                                            const Ask& ask) noexcept {
    if (ask.workers == 0) return 0;
    const std::int64_t size = free.cluster().gpus(server);
    if (free.free_gpus(server) == size) return std::max(PercentOrder::kMost / 3 - size, size);
    const int part = shared_part(free, server, ask);
    if (part > 0) return PercentOrder::kMost - part / 100;
    return std::max(PercentOrder::kMost / 2 - ask.workers, PercentOrder::kMost / 3);
  }

  /// What is left of the partly used GPU for a share; 0 if it would get a free one.
  [[nodiscard]] static int shared_part(const Occupancy& free, ServerId server,
                                       const Ask& ask) noexcept {
    if (!ask.demand.is_share()) return 0;
    const Piece piece = tight_piece(free, server, ask);
    const int milli = free.free_milli(server, std::countr_zero(piece.mask));
    return milli < kWholeGpu ? milli : 0;
  }

  static constexpr double kUsed = 1e6;  // above any part of a GPU
  static constexpr double kIdle = 2e6;  // above any part of a server
  PercentOrder order;
};

using GpuPacking = PackingPlacement<GpuPackingRule>;

}  // namespace

GPUSCHED_REGISTER(
    Placement, GpuPacking, .name = "gpu-packing",
    .summary = "Partly used GPUs first, then free GPUs of used servers, then idle servers.",
    .source = "Weng et al., MLaaS in the Wild, NSDI 2022.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates},
    .parameters = {
        PercentOrder::option("in that order: by what is left of a shared GPU, by the number of "
                             "free GPUs taken, by server size; jobs without GPUs go anywhere")})

}  // namespace gpusched
