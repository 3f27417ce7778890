#include "gpusched/placement.hpp"
#include "gpusched/placement_parts.hpp"
#include "gpusched/registry.hpp"

namespace gpusched {
namespace {

class WorstFit final : public Placement {
 public:
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
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
                  .source = "Johnson, Near-Optimal Bin Packing Algorithms, 1973.")

}  // namespace gpusched
