#include <bit>
#include <optional>
#include <utility>

#include "base/registry.hpp"
#include "placing/fragment_growth.hpp"
#include "placing/fragmentation.hpp"
#include "placing/logistic_steps.hpp"
#include "placing/packing_placement.hpp"
#include "placing/percent_order.hpp"
#include "placing/server_bucket.hpp"

namespace gpusched {
namespace {

/// The lowest growth of fragmentation, weighted by the frequency of requests in the whole trace.
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
    FragmentGrowth growth(*fragmentation, ask);
    growth.enter(left);
    const std::int64_t own = cost(growth.least(left.cpu_milli, left.cpu_milli));
    return order.is_asked() ? order.score(PercentOrder::kMost - own, server)
                            : score_of(own, Capacities::free_milli(free, server));
  }

  /// Buckets order servers by CPU, so that one growth holds for many in a row.
  [[nodiscard]] bool has_buckets() const noexcept { return !order.is_asked(); }
  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return free.has_demands() ? static_cast<double>(free.free_cpu_milli(server)) : 0;
  }
  class Scorer {
   public:
    Scorer(const FgdRule& rule, const Occupancy& free, const Ask& ask) noexcept
        : rule_(rule), free_(free), growth_(*rule.fragmentation, ask) {}

    void enter(ServerId first) noexcept {
      left_ = Fragmentation::leftover(free_, first);
      free_milli_ = Capacities::free_milli(free_, first);
      growth_.enter(left_);
    }
    [[nodiscard]] double least(const RoomRange& range) noexcept {
      const std::int64_t growth = growth_.least(range.least_cpu_milli, range.most_cpu_milli);
      return score_of(rule_.cost(growth), free_milli_);
    }
    [[nodiscard]] double score(const ServerBucket::Entry& entry) noexcept {
      const std::int64_t growth = growth_.least(entry.cpu_milli, entry.cpu_milli);
      return score_of(rule_.cost(growth), free_milli_);
    }

   private:
    const FgdRule& rule_;
    const Occupancy& free_;
    FragmentGrowth growth_;
    Leftover left_;
    std::int64_t free_milli_ = 0;
  };

  /// A share goes to the GPU of least cost, the lowest of equals: partly used GPUs that can take
  /// it, and the lowest that is wholly free.
  [[nodiscard]] Piece piece(const Occupancy& free, ServerId server, const Ask& ask) const noexcept {
    if (!ask.demand.is_share()) return tight_piece(free, server, ask);
    const Leftover left = Fragmentation::leftover(free, server);
    FragmentGrowth growth(*fragmentation, ask);
    growth.enter(left);
    const std::int64_t least = cost(growth.least(left.cpu_milli, left.cpu_milli));
    const GpuMask whole = free.free_mask(server);
    GpuMask rest = free.shared_mask(server) | (whole & -whole);
    const auto is_best = [&](int gpu) {
      const int milli = free.free_milli(server, gpu);
      return milli >= ask.demand.share_milli && cost(growth.of_gpu(left.cpu_milli, milli)) == least;
    };
    while (!is_best(std::countr_zero(rest))) rest &= rest - 1;
    return {server, rest & -rest, 1};
  }

  /// Never less of more growth.
  [[nodiscard]] std::int64_t cost(std::int64_t growth) const noexcept {
    if (order.is_asked()) return PercentOrder::kMost - percent(-growth);
    return growth > 0 ? (growth + step - 1) / step : -(-growth / step);
  }
  /// Ties go to the server with the fewest free GPUs.
  [[nodiscard]] static double score_of(std::int64_t cost, std::int64_t free_milli) noexcept {
    return static_cast<double>(cost) * 65536.0 + static_cast<double>(free_milli);
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

GPUSCHED_REGISTER(
    Placement, Fgd, .name = "fgd",
    .summary = "Least growth of the free GPUs that typical jobs of the trace cannot use.",
    .source = "Weng et al., Fragmentation Gradient Descent, ATC 2023.",
    .flags = {Flag::demands, Flag::shares, Flag::consolidates},
    .parameters = {
        PercentOrder::option("by the growth for the 95% most frequent requests, through a logistic "
                             "function")})

}  // namespace gpusched
