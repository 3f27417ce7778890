#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

struct MostRoom : PackingRule {
  void begin(const PlacementSetup& setup) { capacities = Capacities(setup.state.cluster()); }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& /*ask*/) const noexcept {
    return -capacities.room(free, server);
  }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return -capacities.room(free, server);
  }
  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) const noexcept {
    return loose_piece(free, server, ask);
  }

  Capacities capacities;
};

class WorstFit final : public DemandPlacement<MostRoom> {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    LevelCursor emptiest(free, request.types, LevelCursor::Direction::down);
    for (int rest = request.gpus; rest > 0;) {
      emptiest.advance();
      rest -= take(free, emptiest.server(), rest, out);
    }
    sort_by_server(out);
    return true;
  }
};

}  // namespace

GPUSCHED_REGISTER(Placement, WorstFit, .name = "worst-fit",
                  .summary = "The servers with the most free GPUs first.",
                  .source = "Johnson, Near-Optimal Bin Packing Algorithms, 1973.",
                  .flags = {Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
