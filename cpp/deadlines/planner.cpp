#include "deadlines/planner.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Fewer quanta than this waste too much of a short window.
constexpr int kLeastQuanta = 200;
constexpr int kQuantaPerSegment = 20;
/// Costs are computed up to this multiple of the value.
constexpr double kKnownCost = 2.0;

using Pruned = DeadlineSegments::Pruned;

/// The work that is left of a job that has run is rounded up to a tick: a promise that does all but
/// that is kept.
double rounded_up(const PlanQuery& query) noexcept { return query.is_fresh ? 0.0 : 1.0; }

double greatest_rate(const PlanQuery& query) noexcept {
  double most = 0.0;
  for (const PlanConfiguration& c : query.configurations) most = std::max(most, c.rate);
  return most;
}

}  // namespace

const char* name_of(PlanVerdict verdict) noexcept {
  switch (verdict) {
    case PlanVerdict::found:
      return "admitted";
    case PlanVerdict::too_dear:
      return "too dear";
    case PlanVerdict::no_room:
      return "no room";
    case PlanVerdict::impossible:
      return "impossible";
    case PlanVerdict::too_long:
      return "too long";
    case PlanVerdict::unrunnable:
      return "cannot run";
  }
  return "";
}

DeadlinePlanner::DeadlinePlanner(const PlannerOptions& options,
                                 std::span<const std::int64_t> type_gpus)
    : options_(options),
      prices_(options.prices, type_gpus),
      ledger_(static_cast<int>(type_gpus.size())),
      segments_(options_, prices_, ledger_),
      market_(options.market_decay),
      worths_(type_gpus.size()) {}

PlanWindow DeadlinePlanner::full_window_of(const PlanQuery& query) const noexcept {
  const std::int64_t slot = options_.slot.count();
  PlanWindow window;
  window.first = query.now.count() / slot;
  if (options_.whole_slots) {
    window.first = ceil_div(query.now.count(), slot);
    window.last = query.deadline.count() / slot;
  } else {
    window.last = query.deadline.count() / slot + (query.deadline.count() % slot != 0 ? 1 : 0);
  }
  window.begin = std::max(query.now, options_.slot * window.first);
  window.end = std::min(query.deadline, options_.slot * window.last);
  window.last = std::max(window.last, window.first);
  return window;
}

PlanWindow DeadlinePlanner::window_of(const PlanQuery& query) const noexcept {
  PlanWindow window = full_window_of(query);
  if (window.first < ledger_.begin()) {
    window.first = ledger_.begin();
    window.begin = std::max(window.begin, options_.slot * window.first);
    window.last = std::max(window.last, window.first);
  }
  const std::int64_t last = std::max(window.first, ledger_.begin() + options_.max_slots);
  if (window.last > last) {
    window.last = last;
    window.end = std::min(window.end, options_.slot * last);
  }
  return window;
}

void DeadlinePlanner::see(const PlanQuery& query) {
  if (!(query.work > 0.0)) return;
  for (int type = 0; type < prices_.num_types(); ++type) {
    Prices::Sight sight{kInfinity, 0.0, query.value, 0, 0};
    for (const PlanConfiguration& c : query.configurations) {
      if (c.type != type) continue;
      const double gpus = static_cast<double>(c.gpus);
      // A plan pays for all that it holds: whole slots, and the reserve for a migration.
      const double slot = ticks_of(options_.slot) * c.rate;
      const double held = std::max(slot, query.work + ticks_of(query.change) * c.rate);
      const double density = query.value * slot / (gpus * held);
      sight.least_density = std::min(sight.least_density, density);
      sight.greatest_density = std::max(sight.greatest_density, density);
      sight.least_gpus = sight.least_gpus == 0 ? c.gpus : std::min(sight.least_gpus, c.gpus);
      sight.greatest_gpus = std::max(sight.greatest_gpus, c.gpus);
    }
    if (sight.greatest_gpus > 0) prices_.see(type, sight);
  }
  if (options_.prices == PriceRule::market) see_market(query);
  const PlanWindow window = full_window_of(query);
  prices_.see_window(window.last - window.first);
}

void DeadlinePlanner::see_market(const PlanQuery& query) {
  const auto num_types = static_cast<std::size_t>(prices_.num_types());
  std::vector<double> best(num_types, 0.0);
  double most = 0.0;
  for (const PlanConfiguration& c : query.configurations) {
    const double rate = c.rate / static_cast<double>(c.gpus);
    double& own = best[static_cast<std::size_t>(c.type)];
    own = std::max(own, rate);
    most = std::max(most, rate);
  }
  if (!(most > 0.0)) return;
  double gpus = 0.0;
  for (std::size_t type = 0; type < num_types; ++type) {
    if (best[type] > 0.0) {
      worths_[type].sum += best[type] / most;
      worths_[type].count += 1.0;
    }
    gpus += worths_[type].mean() * prices_.gpus(static_cast<int>(type));
  }
  // The minimum GPU time, in GPUs of worth 1, that meets the deadline in one configuration.
  const double length = ticks_of(query.deadline - query.now);
  double least = kInfinity;
  double width = 0.0;  // in such GPUs
  for (const PlanConfiguration& c : query.configurations) {
    if (c.rate * length < query.work) continue;
    const double own =
        worths_[static_cast<std::size_t>(c.type)].mean() * static_cast<double>(c.gpus);
    if (own * query.work / c.rate < least) {
      least = own * query.work / c.rate;
      width = own;
    }
  }
  // From earlier jobs only: no job raises its own price.
  const double price = market_.clearing(options_.supply * gpus);
  for (std::size_t type = 0; type < num_types; ++type) {
    prices_.set_floor(static_cast<int>(type), price * worths_[type].mean());
  }
  if (least == kInfinity) return;
  const double slot = ticks_of(options_.slot);
  const double density = std::min(query.value / width, query.value * slot / least);
  market_.see(slot_of(query.now), density, least / slot);
}

double DeadlinePlanner::needed(const PlanQuery& query, double rate) const {
  return query.work + ticks_of(query.change) * rate;
}

/// Without the reserve, assuming that the job is not migrated: that happens only at slot
/// boundaries, and seldom to a job that continues over one of them.
double DeadlinePlanner::enough(const PlanQuery& query, std::span<const PlanStep> steps,
                               double rate) const {
  const PlanWindow window = window_of(query);
  const bool is_steady = steps.size() == 1 && steps.front().begin == window.first &&
                         (query.is_fresh || steps.front().configuration == query.current);
  const std::int64_t boundaries = window.last - window.first - 1;
  const bool stays = boundaries == 0 || (is_steady && boundaries == 1);
  return needed(query, stays ? 0.0 : rate);
}

bool DeadlinePlanner::solve(const PlanQuery& query, double work, double limit, bool has_options,
                            std::vector<PlanStep>& steps) {
  const int quanta = std::max(std::min(options_.quanta, kLeastQuanta),
                              std::min(options_.quanta, kQuantaPerSegment * segments_.count()));
  if (!has_options) segments_.make_options(query, work / static_cast<double>(quanta), quanta);
  pruned_ = limit < kInfinity ? segments_.prune(quanta, limit) : Pruned::nothing;
  if (pruned_ == Pruned::all) return false;
  if (!search_.solve(segments_.options(), segments_.choices(), widths_, quanta, query.current,
                     query.is_fresh)) {
    return false;
  }
  segments_.read_steps(query, search_.choices(), steps);
  return true;
}

bool DeadlinePlanner::is_too_dear(const PlanQuery& query, double limit) {
  const PlanWindow window = window_of(query);
  if (window.end <= window.begin) return false;
  segments_.cut(window, query.change);
  return segments_.costs_at_least(query, needed(query, 0.0), limit);
}

PlanVerdict DeadlinePlanner::find(const PlanQuery& query, std::vector<PlanStep>& steps,
                                  double& cost) {
  const double limit = kKnownCost * query.value;
  const PlanVerdict verdict = find_below(query, limit, Known::nothing, steps, cost);
  // The remaining work of any plan below the limit may be expensive or impossible.
  const bool is_none = verdict == PlanVerdict::no_room || verdict == PlanVerdict::too_long;
  if (!is_none || pruned_ == Pruned::nothing) return verdict;
  // Without a reserve to guess at, the options are those of the first attempt.
  const bool has_options = pruned_ == Pruned::all && query.change == Time{0};
  return find_below(query, kInfinity, has_options ? Known::options : Known::window, steps, cost);
}

bool DeadlinePlanner::find_affordable(const PlanQuery& query, double limit,
                                      std::vector<PlanStep>& steps, double& cost) {
  return !is_too_dear(query, std::min(limit, query.value)) &&
         find_below(query, query.value, Known::window, steps, cost) == PlanVerdict::found;
}

/// Among the plans that cost less than `limit`.
PlanVerdict DeadlinePlanner::find_below(const PlanQuery& query, double limit, Known known,
                                        std::vector<PlanStep>& steps, double& cost) {
  cost = kInfinity;
  steps.clear();
  pruned_ = Pruned::nothing;
  const double most = greatest_rate(query);
  if (!(most > 0.0)) return PlanVerdict::unrunnable;
  const PlanWindow window = window_of(query);
  const PlanWindow full = full_window_of(query);
  const auto is_enough = [&](const PlanWindow& some) {
    return Time{ceil_ticks(needed(query, 0.0) / most)} <= some.end - some.begin;
  };
  if (!is_enough(full)) return PlanVerdict::impossible;
  const PlanVerdict none = full.last > window.last ? PlanVerdict::too_long : PlanVerdict::no_room;
  if (!is_enough(window)) return none;
  const Time length = window.end - window.begin;

  widths_.clear();
  for (const PlanConfiguration& c : query.configurations) widths_.push_back(c.gpus);
  if (known == Known::nothing) segments_.cut(window, query.change);
  if (!segments_.may_do(query, needed(query, 0.0))) return none;
  // The reserve for a migration is lost at the rate of the configuration that migrates, which only
  // the plan determines: first a guess, then the rate of the plan found with it.
  double rate = 0.0;
  if (query.change > Time{0}) {
    rate = most;
    for (const PlanConfiguration& c : query.configurations) {
      if (c.rate * ticks_of(length) >= 2.0 * query.work) rate = std::min(rate, c.rate);
    }
  }
  bool is_found = false;
  double dear = kInfinity;  // a plan that held, and was followed by one that did not
  for (int attempt = 0; attempt < 3; ++attempt) {
    const bool has_options = attempt == 0 && known == Known::options;
    if (!solve(query, needed(query, rate), limit, has_options, steps)) {
      if (rate == 0.0) break;
      rate = 0.0;
      continue;
    }
    const PlanOutcome outcome = follow(query, steps, options_.slot, kInfinity);
    is_found = does(query, steps, enough(query, steps, outcome.greatest_rate));
    if (is_found) {
      cost = search_.cost();
      if (cost < query.value || outcome.greatest_rate >= rate) break;
      dear = std::min(dear, cost);
    }
    rate = outcome.greatest_rate;
  }
  if (!is_found || !(cost < kInfinity)) {
    cost = dear;
    if (dear == kInfinity && pruned_ != Pruned::all && find_single(query, window, steps, cost)) {
      if (cost < query.value) return PlanVerdict::found;
      if (pruned_ == Pruned::nothing) return PlanVerdict::too_dear;
      cost = kInfinity;  // among what was pruned may be something cheaper
    }
    steps.clear();
    return dear < kInfinity ? PlanVerdict::too_dear : none;
  }
  if (!options_.whole_slots) {
    trim(query, steps);
    cost = cost_of(query, steps);
  }
  return cost < query.value ? PlanVerdict::found : PlanVerdict::too_dear;
}

double DeadlinePlanner::cost_of(const PlanQuery& query, std::span<const PlanStep> steps) const {
  const PlanWindow window = window_of(query);
  const double share = share_of(window, window.first, options_.slot);  // all others are whole
  double cost = 0.0;
  for (const PlanStep& step : steps) {
    const PlanConfiguration& c = query.configurations[static_cast<std::size_t>(step.configuration)];
    const auto table = prices_.table(c.type);
    const double gpus = static_cast<double>(c.gpus);
    const std::int64_t first = std::max(step.begin, window.first);
    ledger_.for_each_slot(c.type, first, step.end, [&](std::int64_t slot, int promised) {
      const double price = table[static_cast<std::size_t>(promised)];
      cost += (slot == window.first ? price * share : price) * gpus;
    });
  }
  return cost;
}

bool DeadlinePlanner::does(const PlanQuery& query, std::span<const PlanStep> steps,
                           double work) const {
  // An empty plan would complete work of less than a tick.
  return !steps.empty() && follow(query, steps, options_.slot, work).done >= work;
}

bool DeadlinePlanner::keeps(const PlanQuery& query, std::span<const PlanStep> steps) const {
  return does(query, steps, needed(query, 0.0) - rounded_up(query));
}

/// The cheapest of the plans that have one configuration wherever it has room. Quanta are rounded
/// down, and so miss what ends just with the deadline; these are counted to the tick.
bool DeadlinePlanner::find_single(const PlanQuery& query, const PlanWindow& window,
                                  std::vector<PlanStep>& steps, double& cost) const {
  cost = kInfinity;
  std::vector<PlanStep> own;
  for (std::size_t index = 0; index < query.configurations.size(); ++index) {
    const PlanConfiguration& c = query.configurations[index];
    const int most = prices_.gpus(c.type) - c.gpus;
    own.clear();
    ledger_.for_each_slot(c.type, window.first, window.last, [&](std::int64_t slot, int promised) {
      if (promised > most) return;
      if (own.empty() || own.back().end < slot) {
        own.push_back({slot, slot + 1, static_cast<std::int32_t>(index)});
      } else {
        own.back().end = slot + 1;
      }
    });
    if (!trim(query, own) || !does(query, own, enough(query, own, c.rate))) continue;
    const double own_cost = cost_of(query, own);
    if (!(own_cost < cost)) continue;
    cost = own_cost;
    steps.assign(own.begin(), own.end());
  }
  return cost < kInfinity;
}

bool DeadlinePlanner::trim(const PlanQuery& query, std::vector<PlanStep>& steps) const {
  // With all of them, then with those that are enough: fewer may use a lower greatest rate.
  PlanOutcome outcome = follow(query, steps, options_.slot, kInfinity);
  double least = enough(query, steps, outcome.greatest_rate);
  if (!does(query, steps, least - rounded_up(query))) return false;
  for (int round = 0; round < 2; ++round) {
    outcome = follow(query, steps, options_.slot, least);
    cut_from(steps, outcome.end);
    least = enough(query, steps, outcome.greatest_rate);
  }
  return true;
}

void DeadlinePlanner::promise(const PlanQuery& query, std::span<const PlanStep> steps, int sign) {
  for (const PlanStep& step : steps) {
    const PlanConfiguration& c = query.configurations[static_cast<std::size_t>(step.configuration)];
    const int most = prices_.gpus(c.type);
    if (ledger_.add(c.type, sign * c.gpus, step.begin, step.end, most)) continue;
    const std::int64_t first = std::max(step.begin, ledger_.begin());
    ledger_.for_each_slot(c.type, first, step.end, [&](std::int64_t slot, int promised) {
      if (promised >= 0 && promised <= most) return;
      throw InvariantError("of " + std::to_string(most) + " GPUs of type " +
                           std::to_string(c.type) + " " + std::to_string(promised) +
                           " are promised in slot " + std::to_string(slot));
    });
  }
}

}  // namespace gpusched
