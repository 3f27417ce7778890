#include <algorithm>

#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/percent_order.hpp"

namespace gpusched {
namespace {

struct GpuClusteringRule : PackingRule {
  static constexpr bool kTellsGangs = true;
  static constexpr Likeness kLikeness = Likeness::hosted;

  explicit GpuClusteringRule(const Parameters& parameters) : order(parameters) {}

  void begin(const PlacementSetup& setup) {
    most_milli = Capacities(setup.state.cluster()).most_gpu_milli();
    order.begin(setup);
  }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    if (order.is_asked()) return order.score(percent(free, server, ask), server);
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

  [[nodiscard]] bool has_buckets() const noexcept { return !order.is_asked(); }

  /// The authors': a quarter of the scale for each kind of server, the fuller the better in it;
  /// all shares have one shape.
  [[nodiscard]] std::int64_t percent(const Occupancy& free, ServerId server,
                                     const Ask& ask) const noexcept {
    if (ask.gang == 0) return 0;
    constexpr std::int64_t kQuarter = PercentOrder::kMost / 4;
    const std::int64_t used =
        kQuarter * (most_milli - Capacities::free_milli(free, server)) / most_milli;
    const auto hosted = free.hosted(server);
    if (hosted.empty()) return kQuarter + used;
    const auto shape_of = [](std::int32_t shape) { return std::max(shape, std::int32_t{0}); };
    const std::int32_t shape = ask.demand.is_share() ? 0 : ask.gang;
    bool has_own = false;
    bool has_others = false;
    for (const Hosted& own : hosted) {
      (shape_of(own.shape) == shape ? has_own : has_others) = true;
    }
    return (!has_own ? 0 : has_others ? 2 * kQuarter : 3 * kQuarter) + used;
  }

  // Above any free part of a server.
  static constexpr double kMixed = 1e6;
  static constexpr double kIdle = 2e6;
  static constexpr double kOthers = 3e6;
  std::int64_t most_milli = 1;
  PercentOrder order;
};

using GpuClustering = PackingPlacement<GpuClusteringRule>;

}  // namespace

GPUSCHED_REGISTER(
    Placement, GpuClustering, .name = "gpu-clustering",
    .summary = "Servers with jobs of the same size or GPU share first, then idle ones.",
    .source = "Xiao et al., Gandiva, OSDI 2018; Weng et al., ATC 2023.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates},
    .parameters = {PercentOrder::option("in that order, by the GPUs in use; all shares count "
                                        "as one size, jobs without GPUs go anywhere")})

}  // namespace gpusched
