#include "base/registry.hpp"
#include "placing/packing.hpp"

namespace gpusched {
namespace {

struct GpuClusteringRule : PackingRule {
  static constexpr bool kTellsGangs = true;

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    const auto left = static_cast<double>(Capacities::free_milli(free, server));
    const auto hosted = free.hosted(server);
    if (ask.gang == 0) return left;
    if (hosted.empty()) return kIdle + left;
    const std::int32_t shape = ask.demand.is_share() ? -ask.demand.share_milli : ask.gang;
    for (const Hosted& own : hosted) {
      if (own.shape == shape) return hosted.size() == 1 ? left : kMixed + left;
    }
    return kOthers + left;
  }

  // Above any free part of a server.
  static constexpr double kMixed = 1e6;
  static constexpr double kIdle = 2e6;
  static constexpr double kOthers = 3e6;
};

using GpuClustering = PackingPlacement<GpuClusteringRule>;

}  // namespace

GPUSCHED_REGISTER(Placement, GpuClustering, .name = "gpu-clustering",
                  .summary = "Servers that have gangs of the same width or share, then idle ones.",
                  .source = "Xiao et al., Gandiva, OSDI 2018; Weng et al., ATC 2023.",
                  .flags = {Flag::demands, Flag::shares, Flag::consolidates})

}  // namespace gpusched
