#include "deadlines/plan_search.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Gap to the bound within which the cheapest plan is sought, and its growth factor.
constexpr double kFirstGap = 0.005;
constexpr double kWider = 4.0;
constexpr int kMostNarrowed = 3;
/// Relative improvement of the bound below which the price search stops.
constexpr double kNearEnough = 0.001;
/// Relative difference far above that of sums in another order.
constexpr double kRounding = 1e-9;

/// The price with the greatest bound, or nearly so. As a function of the price the bound is concave,
/// and each sum of choices is a line above it: the price is where two lines meet that no other one
/// undercuts.
double dearest_quantum(SegmentChoices& choices, double quanta, const SegmentChoices::Sum& most) {
  SegmentChoices::Sum low;
  SegmentChoices::Sum high = most;
  for (;;) {
    const double price = (high.cost - low.cost) / (high.done - low.done);
    const SegmentChoices::Sum found = choices.choose_at(price);
    if (found.done <= low.done || found.done >= high.done) return price;
    const double above = low.cost + price * (quanta - low.done);
    const double bound = found.cost + price * (quanta - found.done);
    if (above - bound <= kNearEnough * above) return price;
    (found.done < quanta ? low : high) = found;
  }
}

}  // namespace

bool PlanSearch::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh) {
  find_choices(options, gpus.size(), quanta);
  return solve(options, own_choices_, gpus, quanta, current, is_fresh);
}

bool PlanSearch::solve(std::span<const PlanOption> options, SegmentChoices& choices,
                       std::span<const std::int32_t> gpus, int quanta, int current, bool is_fresh) {
  if (quanta > 0 && find_bound(choices, quanta)) {
    double gap = kFirstGap * bound_;
    for (int tries = 0; tries < kMostNarrowed && keep(choices, bound_ + gap); ++tries) {
      const bool is_found =
          oracle_.solve(options, gpus, quanta, current, is_fresh, {kept_, kept_begins_, is_busy_});
      // No plan that costs as little was left out.
      if (is_found && oracle_.cost() <= bound_ + gap) return true;
      gap = is_found ? oracle_.cost() - bound_ : kWider * gap;
    }
  }
  return oracle_.solve(options, gpus, quanta, current, is_fresh);
}

void PlanSearch::find_choices(std::span<const PlanOption> options, std::size_t num_configurations,
                              int quanta) {
  const std::size_t num_segments = options.size() / std::max<std::size_t>(1, num_configurations);
  own_choices_.open(num_segments, num_configurations);
  own_choices_.clear();
  const PlanOption* option = options.data();
  for (std::size_t segment = 0; segment < num_segments; ++segment) {
    for (std::size_t c = 0; c < num_configurations; ++c, ++option) {
      if (option->cost == kInfinity) continue;
      const std::int32_t most = std::min(std::max(option->same, option->first), quanta);
      own_choices_.set(segment, c, option->cost, static_cast<double>(most));
    }
  }
}

/// With a quantum at a price each segment chooses for itself: a bound at any price, and greater
/// where a segment is made to choose otherwise. False if all segments together do not do the work.
bool PlanSearch::find_bound(SegmentChoices& choices, int quanta) {
  const SegmentChoices::Sum most = choices.choose_most();
  const auto all = static_cast<double>(quanta);
  if (most.done < all) return false;
  bound_ = dearest_quantum(choices, all, most) * all;
  for (const double gain : choices.gains()) bound_ -= gain;
  return true;
}

/// The choices that some plan may have that costs no more than `limit`: where a segment chooses
/// otherwise, a plan costs more by what it gains less. False if these are all.
bool PlanSearch::keep(SegmentChoices& choices, double limit) {
  const double most = limit - bound_ + limit * kRounding;
  bool is_all = choices.find_near(most);
  kept_.clear();
  kept_begins_.assign(1, 0);
  is_busy_.clear();
  for (std::size_t segment = 0; segment < choices.num_segments(); ++segment) {
    choices.for_each_near(segment, [&](std::size_t configuration) {
      kept_.push_back(static_cast<std::uint32_t>(configuration));
    });
    kept_begins_.push_back(kept_.size());
    const bool is_busy = choices.gains()[segment] > most;
    is_busy_.push_back(is_busy ? 1 : 0);
    is_all = is_all && !is_busy;
  }
  return !is_all;
}

}  // namespace gpusched
