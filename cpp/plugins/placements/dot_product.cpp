#include "base/registry.hpp"
#include "placing/packing.hpp"

namespace gpusched {
namespace {

struct DotProductRule : PackingRule {
  void begin(const PlacementSetup& setup) { capacities = Capacities(setup.state.cluster()); }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    return -capacities.match(free, server, ask);
  }

  Capacities capacities;
};

using DotProduct = PackingPlacement<DotProductRule>;

}  // namespace

GPUSCHED_REGISTER(
    Placement, DotProduct, .name = "dot-product",
    .summary = "The server whose free GPUs, CPU and memory are most like what the gang asks for.",
    .source = "Grandl et al., Tetris, SIGCOMM 2014.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates})

}  // namespace gpusched
