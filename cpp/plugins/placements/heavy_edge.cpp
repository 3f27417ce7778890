#include <optional>

#include "base/registry.hpp"
#include "placing/heavy_edge_cut.hpp"
#include "seams/placement.hpp"

namespace gpusched {
namespace {

class HeavyEdgePlacement final : public Placement {
 public:
  explicit HeavyEdgePlacement(const Parameters& parameters)
      : swaps_(parameters.flag("swaps")), fewest_first_(parameters.text("fill") == "fewest") {}

  void begin(const PlacementSetup& setup) override {
    const State& state = setup.state;
    heavy_edge_.emplace(state.jobs(), state.cluster(), state.speed(), swaps_);
  }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    return heavy_edge_->place(free, request, fewest_first_, out);
  }

 private:
  bool swaps_;
  bool fewest_first_;
  std::optional<HeavyEdge> heavy_edge_;  // of the run
};

}  // namespace

GPUSCHED_REGISTER(
    Placement, HeavyEdgePlacement, .name = "heavy-edge",
    .summary = "Best fit on one server; or few servers, the job graph cut at light edges.",
    .source = "The aim: Luo et al., INFOCOM 2025 (the abstract); the algorithm is ours.",
    .flags = {Flag::scatters},
    .parameters = {{.name = "swaps",
                    .fallback = true,
                    .help = "exchange replicas between servers if that shortens an iteration"},
                   {.name = "fill",
                    .fallback = std::string("most-free"),
                    .help = "which servers a multi-server job gets first: those with the most "
                            "free GPUs, or the fewest (fragments)",
                    .choices = {"most-free", "fewest"}}})

}  // namespace gpusched
