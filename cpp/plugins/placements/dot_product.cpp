#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/percent_order.hpp"
#include "placing/server_bucket.hpp"

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
    if (!order.is_asked()) {
      Scorer scorer(*this, free, ask);
      scorer.enter(server);
      return free.has_demands()
                 ? scorer.of(free.free_cpu_milli(server), free.free_memory_mib(server))
                 : scorer.of(0, 0);
    }
    const double product = capacities.mean_match(free, server, ask);
    const double part = is_least ? 1.0 - product : product;
    return order.score(static_cast<std::int64_t>(part * PercentOrder::kMost), server);
  }

  [[nodiscard]] bool has_buckets() const noexcept { return !order.is_asked(); }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return signed_of(capacities.room(free, server));
  }
  class Scorer {
   public:
    Scorer(const DotProductRule& rule, const Occupancy& free, const Ask& ask) noexcept
        : rule_(rule), match_(rule.capacities, free, ask) {}

    void enter(ServerId first) noexcept { match_.enter(first); }
    [[nodiscard]] double least(const RoomRange& range) const noexcept {
      return rule_.is_least ? of(range.least_cpu_milli, range.least_memory_mib)
                            : of(range.most_cpu_milli, range.most_memory_mib);
    }
    [[nodiscard]] double score(const ServerBucket::Entry& entry) const noexcept {
      return of(entry.cpu_milli, entry.memory_mib);
    }
    [[nodiscard]] double of(std::int64_t cpu_milli, std::int64_t memory_mib) const noexcept {
      return rule_.signed_of(match_.of(cpu_milli, memory_mib));
    }

   private:
    const DotProductRule& rule_;
    Capacities::Match match_;
  };

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
    .summary = "The server with the free GPUs, CPU and memory that best match the job's request.",
    .source = "Grandl et al., Tetris, SIGCOMM 2014.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates},
    .parameters = {PercentOrder::option("product=least, of CPU and GPUs only"),
                   {.name = "product",
                    .fallback = std::string("greatest"),
                    .help = "which product of free and requested resources wins: greatest, or "
                            "least (packs)",
                    .choices = {"greatest", "least"}}},
    .adjust = apply_artefact)

}  // namespace gpusched
