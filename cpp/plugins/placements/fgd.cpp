#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "base/registry.hpp"
#include "placing/fragmentation.hpp"
#include "placing/logistic_steps.hpp"
#include "placing/packing.hpp"
#include "placing/percent_order.hpp"

namespace gpusched {
namespace {

/// Where fragmentation, by the popularity of what the whole trace asks for, grows least.
struct FgdRule : PackingRule {
  static constexpr bool kIsCostly = true;
  static constexpr bool kStandsByScore = false;

  explicit FgdRule(const Parameters& parameters) : order(parameters) {}

  void begin(const PlacementSetup& setup) {
    const State& state = setup.state;
    order.begin(setup);
    fragmentation.reset();
    if (state.jobs().num_jobs() == 0) return;
    auto tasks = Fragmentation::popularity(state.jobs());
    if (order.is_asked()) tasks = Fragmentation::most_popular(std::move(tasks), kTypicalPercent);
    fragmentation.emplace(tasks, state.cluster());
    std::int64_t weight = 0;
    for (const TaskType& task : tasks) weight += task.weight;
    step = kStepMilli * weight;
    if (order.is_asked()) percent = LogisticSteps(kWholeGpu * weight);
  }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& ask) const noexcept {
    const Leftover left = Fragmentation::leftover(free, server);
    const std::int64_t cost = least_cost(free, server, left, left.cpu_milli, ask);
    if (order.is_asked()) return order.score(PercentOrder::kMost - cost, server);
    return score_of(free, server, cost);
  }

  [[nodiscard]] bool has_shelves() const noexcept { return !order.is_asked(); }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return free.has_demands() ? static_cast<double>(free.free_cpu_milli(server)) : 0;
  }
  /// Of a server that had the least CPU and were left with what the one with the most is left with.
  [[nodiscard]] double least_score(const Occupancy& free, ServerId first, const RoomRange& range,
                                   const Ask& ask) const noexcept {
    Leftover left = Fragmentation::leftover(free, first);
    left.cpu_milli = range.least_cpu_milli;
    return score_of(free, first, least_cost(free, first, left, range.most_cpu_milli, ask));
  }
  [[nodiscard]] static double score_of(const Occupancy& free, ServerId server,
                                       std::int64_t cost) noexcept {
    return static_cast<double>(cost) * 65536.0 +
           static_cast<double>(Capacities::free_milli(free, server));
  }

  /// A share goes to the GPU of least cost, the lowest of equals.
  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) const noexcept {
    if (!ask.demand.is_share()) return tight_piece(free, server, ask);
    const Leftover left = Fragmentation::leftover(free, server);
    const std::int64_t least = least_cost(free, server, left, left.cpu_milli, ask);
    int best = kMaxGpusPerServer;
    for_each_growth(free, server, left, left.cpu_milli, ask, [&](int gpu, std::int64_t growth) {
      if (gpu < best && cost(growth) == least) best = gpu;
    });
    return {server, GpuMask{1} << best, 1};
  }

  /// What it costs to take the ask of a server with so much left, and CPU of `cpu_milli`; for a share
  /// on the GPU where it is least.
  [[nodiscard]] std::int64_t least_cost(const Occupancy& free, ServerId server,
                                        const Leftover& left, std::int64_t cpu_milli,
                                        const Ask& ask) const noexcept {
    if (!ask.demand.is_share()) {
      const std::int64_t asked = ask.demand.cpu_milli * std::max(1, ask.workers);
      return cost(fragmentation->growth(left, ask.workers, cpu_milli - asked));
    }
    std::int64_t least = std::numeric_limits<std::int64_t>::max();
    for_each_growth(free, server, left, cpu_milli, ask,
                    [&](int /*gpu*/, std::int64_t growth) { least = std::min(least, growth); });
    return cost(least);
  }

  /// Visits the partly used GPUs that can take the share, and the lowest that is wholly free.
  template <class Visit>
  void for_each_growth(const Occupancy& free, ServerId server, const Leftover& left,
                       std::int64_t cpu_milli, const Ask& ask, Visit visit) const noexcept {
    const Demand& demand = ask.demand;
    const Fragmentation::Share share =
        fragmentation->share(left, demand.share_milli, cpu_milli - demand.cpu_milli);
    for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
      const int gpu = std::countr_zero(rest);
      const int milli = free.free_milli(server, gpu);
      if (milli >= demand.share_milli) visit(gpu, fragmentation->growth(share, milli));
    }
    if (free.free_gpus(server) > 0) {
      visit(std::countr_zero(free.free_mask(server)), fragmentation->growth(share, kWholeGpu));
    }
  }

  /// Never less of more growth.
  [[nodiscard]] std::int64_t cost(std::int64_t growth) const noexcept {
    if (order.is_asked()) return PercentOrder::kMost - percent(-growth);
    return growth > 0 ? (growth + step - 1) / step : -(-growth / step);
  }

  static constexpr std::int64_t kStepMilli = 40;
  static constexpr int kTypicalPercent = 95;
  std::int64_t step = 1;
  LogisticSteps percent;
  PercentOrder order;
  std::optional<Fragmentation> fragmentation;  // by the jobs of the run
};

using Fgd = PackingPlacement<FgdRule>;

}  // namespace

GPUSCHED_REGISTER(Placement, Fgd, .name = "fgd",
                  .summary = "Where the GPUs that typical jobs of the trace cannot use grow least.",
                  .source = "Weng et al., Fragmentation Gradient Descent, ATC 2023.",
                  .flags = {Flag::demands, Flag::shares, Flag::consolidates},
                  .parameters = {PercentOrder::option(
                      "by the growth for the 95 % most frequent requests, through a logistic "
                      "function")})

}  // namespace gpusched
