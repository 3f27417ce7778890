#include "deadlines/plan_search.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Of the bound, what the cheapest plan is looked for within, and how much wider the next time.
constexpr double kFirstGap = 0.005;
constexpr double kWider = 4.0;
constexpr int kMostNarrowed = 3;
/// Of a cost, far more than sums in another order can differ by.
constexpr double kRounding = 1e-9;

/// Whatever ran before.
std::int32_t most_quanta(const PlanOption& option, int quanta) noexcept {
  return std::min(std::max(option.same, option.first), quanta);
}

}  // namespace

bool PlanSearch::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh) {
  if (quanta > 0 && find_bound(options, gpus.size(), quanta)) {
    double gap = kFirstGap * bound_;
    for (int tries = 0; tries < kMostNarrowed && keep(options, bound_ + gap); ++tries) {
      const bool is_found = oracle_.solve(kept_, gpus, quanta, current, is_fresh, is_busy_);
      // No plan that costs as little was left out.
      if (is_found && oracle_.cost() <= bound_ + gap) return true;
      gap = is_found ? oracle_.cost() - bound_ : kWider * gap;
    }
  }
  return oracle_.solve(options, gpus, quanta, current, is_fresh);
}

/// With a quantum at a price each segment chooses for itself: a bound at any price, and greater
/// where a segment is made to choose otherwise. False if all segments together do not do the work.
bool PlanSearch::find_bound(std::span<const PlanOption> options, std::size_t num_configurations,
                            int quanta) {
  find_edges(options, num_configurations, quanta);
  double price = -1.0;
  std::int64_t done = 0;
  for (const Edge& edge : edges_) {
    done += edge.quanta;
    if (done < quanta) continue;
    price = edge.price;
    break;
  }
  if (price < 0.0) return false;
  bound_ = price * static_cast<double>(quanta);
  reduced_.resize(options.size());
  idle_.clear();
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    double gain = 0.0;
    for (std::size_t i = begin; i < begin + num_configurations; ++i) {
      const PlanOption& o = options[i];
      reduced_[i] = o.cost - price * static_cast<double>(most_quanta(o, quanta));
      gain = std::max(gain, -reduced_[i]);
    }
    for (std::size_t i = begin; i < begin + num_configurations; ++i) reduced_[i] += gain;
    idle_.push_back(gain);
    bound_ -= gain;
  }
  return true;
}

/// Cheapest quanta first.
void PlanSearch::find_edges(std::span<const PlanOption> options, std::size_t num_configurations,
                            int quanta) {
  edges_.clear();
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    corners_.clear();
    for (const PlanOption& o : options.subspan(begin, num_configurations)) {
      if (o.cost < kInfinity) corners_.push_back({o.cost, most_quanta(o, quanta)});
    }
    Corner last{0.0, 0};
    for (;;) {
      Edge edge{kInfinity, 0};
      Corner next = last;
      for (const Corner& corner : corners_) {
        const std::int32_t more = corner.quanta - last.quanta;
        if (more <= 0) continue;
        const double price = (corner.cost - last.cost) / static_cast<double>(more);
        if (price > edge.price || (price == edge.price && more < edge.quanta)) continue;
        edge = {price, more};
        next = corner;
      }
      if (edge.quanta == 0) break;
      edges_.push_back(edge);
      last = next;
    }
  }
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    return a.price != b.price ? a.price < b.price : a.quanta < b.quanta;
  });
}

/// The options that some plan may use that costs no more than `limit`. False if these are all.
bool PlanSearch::keep(std::span<const PlanOption> options, double limit) {
  const double most = limit - bound_ + limit * kRounding;
  kept_.assign(options.begin(), options.end());
  bool is_all = true;
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    if (reduced_[i] <= most || kept_[i].cost == kInfinity) continue;
    kept_[i].cost = kInfinity;
    is_all = false;
  }
  is_busy_.clear();
  for (const double idle : idle_) {
    is_busy_.push_back(idle > most ? 1 : 0);
    is_all = is_all && idle <= most;
  }
  return !is_all;
}

}  // namespace gpusched
