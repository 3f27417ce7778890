#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/percent_order.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

struct LeastRoom : PackingRule {
  explicit LeastRoom(const Parameters& parameters) : order(parameters) {}

  void begin(const PlacementSetup& setup) {
    capacities = Capacities(setup.state.cluster());
    order.begin(setup);
  }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    if (!order.is_asked()) return capacities.room(free, server);
    const double used = 1.0 - capacities.mean_left(free, server, ask);
    return order.score(static_cast<std::int64_t>(used * PercentOrder::kMost), server);
  }

  [[nodiscard]] bool has_buckets() const noexcept { return !order.is_asked(); }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return capacities.room(free, server);
  }

  Capacities capacities;
  PercentOrder order;
};

class BestFit final : public DemandPlacement<LeastRoom> {
 public:
  using DemandPlacement::DemandPlacement;

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    int rest = request.gpus;
    LevelCursor fullest(free, request.types, LevelCursor::Direction::up);
    while (rest > 0) {
      // Servers are used up in (free, id) order, so one that holds the rest and lies further up
      // has not been touched; where none lies further up, the cursor's own is the best fit.
      fullest.advance();
      const int taken = fullest.level();
      if (taken < rest && take_best_fit(free, request.types, rest, out)) break;
      rest -= take(free, fullest.server(), rest, out);
    }
    sort_by_server(out);
    return true;
  }
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, BestFit, .name = "best-fit",
    .summary = "The fullest server that fits the job; otherwise the fullest servers first.",
    .source = "Johnson, Near-Optimal Bin Packing Algorithms, 1973.",
    .flags = {Flag::demands, Flag::shares, Flag::scatters},
    .parameters = {PercentOrder::option("if jobs request more than whole GPUs, by the mean of "
                                        "the CPU and GPUs left")})

}  // namespace gpusched
