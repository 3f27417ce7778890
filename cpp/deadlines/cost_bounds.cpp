#include "deadlines/cost_bounds.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/infinity.hpp"
#include "deadlines/plan_oracle.hpp"

namespace gpusched {
namespace {

constexpr std::int64_t kLongestExactWindow = 64;
constexpr int kQuantaPerSlot = 20;
/// Absorbs the rounding of sums.
constexpr double kSurely = 1.0 - 1e-9;

/// Work and cost of a configuration in a slot of a window, ignoring capacity.
class SlotView {
 public:
  SlotView(const DeadlinePlanner& planner, const PromiseRuns& promised, const PlanWindow& window)
      : planner_(planner), promised_(promised), window_(window) {}

  [[nodiscard]] double cost(const PlanConfiguration& c, std::int64_t slot) const noexcept {
    const double price = planner_.prices().of(c.type, promised_.promised(c.type, slot));
    return price * share_of(window_, slot, planner_.options().slot) * static_cast<double>(c.gpus);
  }
  [[nodiscard]] double done(const PlanConfiguration& c, std::int64_t slot) const noexcept {
    const Time length = planner_.options().slot;
    const Time begin = std::max(window_.begin, length * slot);
    const Time end = std::min(window_.end, length * (slot + 1));
    return ticks_of(end - begin) * c.rate;
  }

  /// Calls `visit(slot, count)` for runs of equal slots.
  template <class Visit>
  void for_each_kind(Visit&& visit) const {
    // The first and the last one may be cut by the window.
    visit(window_.first, std::int64_t{1});
    if (window_.last - window_.first == 1) return;
    promised_.for_each_piece(window_.first + 1, window_.last - 1,
                             [&](std::int64_t begin, std::int64_t end) {
                               visit(begin, end - begin);
                             });
    visit(window_.last - 1, std::int64_t{1});
  }

 private:
  const DeadlinePlanner& planner_;
  const PromiseRuns& promised_;
  const PlanWindow& window_;
};

double cost_of_begun_quanta(const DeadlinePlanner& planner, const SlotView& view,
                            const PlanWindow& window, const PlanQuery& query) {
  const int quanta = std::max(planner.options().quanta,
                              kQuantaPerSlot * static_cast<int>(window.last - window.first));
  const double quantum = query.work / static_cast<double>(quanta);
  std::vector<std::int32_t> widths;
  for (const PlanConfiguration& c : query.configurations) widths.push_back(c.gpus);
  std::vector<PlanOption> options;
  for (std::int64_t slot = window.first; slot < window.last; ++slot) {
    for (const PlanConfiguration& c : query.configurations) {
      const double begun = view.done(c, slot) / quantum;
      const bool is_all = !(begun < static_cast<double>(quanta));
      const std::int32_t done = is_all ? quanta : static_cast<std::int32_t>(begun) + 1;
      options.push_back({view.cost(c, slot), done, done, done, true});
    }
  }
  PlanOracle oracle;
  return oracle.solve(options, widths, quanta, -1, false) ? oracle.cost() : kInfinity;
}

/// Each slot along the lower hull of (done, cost), and of all slots the cheapest parts first.
double cost_of_fractions(const SlotView& view, const PlanQuery& query) {
  struct Part {
    double price;
    double done;
  };
  std::vector<Part> parts;
  view.for_each_kind([&](std::int64_t slot, std::int64_t count) {
    double done = 0.0;
    double cost = 0.0;
    for (;;) {
      Part best{kInfinity, 0.0};
      for (const PlanConfiguration& c : query.configurations) {
        const double more = view.done(c, slot) - done;
        if (!(more > 0.0)) continue;
        const double price = (view.cost(c, slot) - cost) / more;
        if (price < best.price || (price == best.price && more > best.done)) best = {price, more};
      }
      if (best.done == 0.0) break;
      parts.push_back({std::max(0.0, best.price), best.done * static_cast<double>(count)});
      done += best.done;
      cost += best.price * best.done;
    }
  });
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return a.price != b.price ? a.price < b.price : a.done < b.done;
  });
  double left = query.work * kSurely;
  double cost = 0.0;
  for (const Part& part : parts) {
    cost += part.price * std::min(left, part.done);
    left -= part.done;
    if (left <= 0.0) return cost;
  }
  return kInfinity;
}

/// The price of a slot's length of service if at least `promised(type)` GPUs are promised.
template <class Promised>
double price_of_service(const Prices& prices, std::span<const PlanConfiguration> configurations,
                        Promised&& promised) {
  double least = kInfinity;
  for (int type = 0; type < prices.num_types(); ++type) {
    int narrowest = std::numeric_limits<int>::max();
    double per_tick = kInfinity;  // GPUs for a service of one tick per tick
    for (const PlanConfiguration& c : configurations) {
      if (c.type != type) continue;
      narrowest = std::min(narrowest, c.gpus);
      per_tick = std::min(per_tick, static_cast<double>(c.gpus) / c.rate);
    }
    if (per_tick == kInfinity) continue;
    // The price rises with the promised GPUs.
    const int fewest = promised(type);
    if (fewest + narrowest > prices.gpus(type)) continue;
    least = std::min(least, prices.of(type, fewest) * per_tick);
  }
  return least;
}

}  // namespace

double least_cost(const DeadlinePlanner& planner, const PlanQuery& query) {
  const PlanWindow window = planner.window_of(query);
  const Prices& prices = planner.prices();
  const double price = price_of_service(prices, query.configurations, [&](int type) {
    return planner.ledger().least(type, window.first, window.last, prices.gpus(type));
  });
  return price * query.work / ticks_of(planner.options().slot);
}

double least_price(const Prices& prices, std::span<const PlanConfiguration> configurations) {
  return price_of_service(prices, configurations, [](int /*type*/) { return 0; });
}

double optimistic_cost(const DeadlinePlanner& planner, const PromiseRuns& promised,
                       const PlanQuery& query) {
  const PlanWindow window = planner.full_window_of(query);
  if (window.end <= window.begin || query.configurations.empty()) return kInfinity;
  const SlotView view(planner, promised, window);
  const double cost = window.last - window.first <= kLongestExactWindow
                          ? cost_of_begun_quanta(planner, view, window, query)
                          : cost_of_fractions(view, query);
  return cost * kSurely;
}

Scarcity scarcest(const DeadlinePlanner& planner, const PlanQuery& query) {
  const PlanWindow window = planner.window_of(query);
  const Prices& prices = planner.prices();
  const auto free = [&](int type, std::int64_t slot) {
    return prices.gpus(type) - planner.ledger().promised(type, slot);
  };
  Scarcity longest;  // run of slots in which nothing of the job fits
  Scarcity fullest;
  double least = 1.0;
  for (int type = 0; type < prices.num_types(); ++type) {
    int narrowest = std::numeric_limits<int>::max();
    for (const PlanConfiguration& c : query.configurations) {
      if (c.type == type) narrowest = std::min(narrowest, c.gpus);
    }
    if (narrowest > prices.gpus(type)) continue;
    std::int64_t begin = window.first;
    int lowest = std::numeric_limits<int>::max();  // of the type
    planner.ledger().for_each_slot(type, window.first, window.last,
                                   [&](std::int64_t slot, int promised) {
                                     const int left = prices.gpus(type) - promised;
                                     if (left < lowest) {
                                       lowest = left;
                                       const double part =
                                           static_cast<double>(left) / prices.gpus(type);
                                       if (part < least) {
                                         least = part;
                                         fullest = {type, slot, slot + 1};
                                       }
                                     }
                                     if (left >= narrowest) {
                                       begin = slot + 1;
                                     } else if (slot + 1 - begin > longest.end - longest.begin) {
                                       longest = {type, begin, slot + 1};
                                     }
                                   });
  }
  Scarcity& found = longest.type >= 0 ? longest : fullest;
  if (found.type < 0) return found;
  if (&found == &fullest) {
    const double promised = 0.9 * (1.0 - least) * prices.gpus(found.type);
    while (found.end < window.last &&
           prices.gpus(found.type) - free(found.type, found.end) >= promised) {
      ++found.end;
    }
  }
  for (std::int64_t slot = found.begin; slot < found.end; ++slot) {
    found.free = std::max(found.free, free(found.type, slot));
  }
  return found;
}

}  // namespace gpusched
