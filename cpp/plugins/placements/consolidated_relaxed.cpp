#include <cstddef>

#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

// A job with CPU or memory requests is never spread: kappa applies to the others.
class ConsolidatedRelaxed final : public DemandPlacement<LeastFreeGpus> {
 public:
  explicit ConsolidatedRelaxed(const Parameters& parameters) : kappa_(parameters.number("kappa")) {}

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return packer_.place(free, request, out);
    if (place_consolidated(free, request, out)) return true;
    if (request.gpus > free.num_free(request.types)) return false;
    const int size = free.cluster().largest_server(request.types);
    const auto allowed =
        static_cast<std::size_t>(floor_times(kappa_, ceil_div(request.gpus, size)));
    out.reset(request.gpus);
    LevelCursor emptiest(free, request.types, LevelCursor::Direction::down);
    for (int rest = request.gpus; rest > 0;) {
      if (out.pieces.size() >= allowed) return false;
      emptiest.advance();
      const int level = free.least_level(request.types, rest);
      if (emptiest.level() >= rest && level < emptiest.level()) {
        // Levels below the cursor's are untouched: the best fit for what is left.
        out.pieces.push_back(free.lowest_free(free.next_server(request.types, level, -1), rest));
        break;
      }
      rest -= take(free, emptiest.server(), rest, out);
    }
    sort_by_server(out);
    return true;
  }

 private:
  double kappa_;
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, ConsolidatedRelaxed, .name = "consolidated-relaxed",
    .summary = "Like consolidated, but up to kappa times the fewest servers, emptiest first.",
    .source = "Gu et al., Tiresias (skew rule), NSDI 2019.", .flags = {Flag::demands, Flag::shares},
    .parameters = {{.name = "kappa",
                    .fallback = 2.0,
                    .help = "maximum number of servers of a job, as a multiple of the fewest "
                            "possible",
                    .minimum = 1,
                    .maximum = 1e9}})

}  // namespace gpusched
