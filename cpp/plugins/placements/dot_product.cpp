#include "base/registry.hpp"
#include "placing/packing.hpp"
#include "placing/percent_order.hpp"

namespace gpusched {
namespace {

struct DotProductRule : PackingRule {
  static constexpr bool kStandsByScore = false;

  explicit DotProductRule(const Parameters& parameters)
      : order(parameters), is_least(parameters.text("product") == "least") {}

  void begin(const PlacementSetup& setup) {
    capacities = Capacities(setup.state.cluster());
    order.begin(setup);
  }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    if (!order.is_asked()) return signed_of(capacities.match(free, server, ask));
    const double product = capacities.mean_match(free, server, ask);
    const double part = is_least ? 1.0 - product : product;
    return order.score(static_cast<std::int64_t>(part * PercentOrder::kMost), server);
  }

  [[nodiscard]] bool has_shelves() const noexcept { return !order.is_asked(); }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return signed_of(capacities.room(free, server));
  }
  /// No product of servers with so much room passes that of their corner, rounding included.
  [[nodiscard]] double least_score(const Occupancy& free, ServerId first, const RoomRange& range,
                                   const Ask& ask) const noexcept {
    return signed_of(
        is_least ? capacities.match(free, first, range.least_cpu_milli, range.least_memory_mib, ask)
                 : capacities.match(free, first, range.most_cpu_milli, range.most_memory_mib, ask));
  }

  [[nodiscard]] double signed_of(double product) const noexcept {
    return is_least ? product : -product;
  }

  PercentOrder order;
  bool is_least;
  Capacities capacities;
};

using DotProduct = PackingPlacement<DotProductRule>;

void apply_artefact(Parameters& parameters) {
  if (parameters.flag("artefact")) parameters.preset("product", std::string("least"));
}

}  // namespace

GPUSCHED_REGISTER(
    Placement, DotProduct, .name = "dot-product",
    .summary = "The server whose free GPUs, CPU and memory are most like what the gang asks for.",
    .source = "Grandl et al., Tetris, SIGCOMM 2014.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates},
    .parameters = {PercentOrder::option("product=least, of CPU and GPUs alone"),
                   {.name = "product",
                    .fallback = std::string("greatest"),
                    .help = "which product of what is free and what is asked for wins: greatest, "
                            "or least, which packs",
                    .choices = {"greatest", "least"}}},
    .adjust = apply_artefact)

}  // namespace gpusched
