#include "deadlines/plan_search.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Of the bound, what the cheapest plan is looked for within, and how much wider the next time.
constexpr double kFirstGap = 0.005;
constexpr double kWider = 4.0;
constexpr int kMostNarrowed = 3;
/// Of the bound, what a better price is not looked for.
constexpr double kNearEnough = 0.001;
/// Of a cost, far more than sums in another order can differ by.
constexpr double kRounding = 1e-9;

/// Whatever ran before.
std::int32_t most_quanta(const PlanOption& option, int quanta) noexcept {
  return std::min(std::max(option.same, option.first), quanta);
}

}  // namespace

bool PlanSearch::solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus,
                       int quanta, int current, bool is_fresh) {
  if (quanta > 0) find_choices(options, gpus.size(), quanta);
  if (quanta > 0 && find_bound(quanta)) {
    double gap = kFirstGap * bound_;
    for (int tries = 0; tries < kMostNarrowed && keep(bound_ + gap); ++tries) {
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
  choices_.clear();
  begins_.assign(1, 0);
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    for (std::size_t c = 0; c < num_configurations; ++c) {
      const PlanOption& o = options[begin + c];
      if (o.cost == kInfinity) continue;
      choices_.push_back({o.cost, most_quanta(o, quanta), static_cast<std::uint32_t>(c)});
    }
    begins_.push_back(choices_.size());
  }
}

/// With a quantum at a price each segment chooses for itself: a bound at any price, and greater
/// where a segment is made to choose otherwise. False if all segments together do not do the work.
bool PlanSearch::find_bound(int quanta) {
  const Sum most = choose_most();
  if (most.quanta < quanta) return false;
  const double price = dearest_quantum(quanta, most);
  bound_ = price * static_cast<double>(quanta);
  reduced_.clear();
  idle_.clear();
  for (std::size_t segment = 0; segment + 1 < begins_.size(); ++segment) {
    double gain = 0.0;
    for (const Choice& choice : of(segment)) {
      reduced_.push_back(choice.cost - price * static_cast<double>(choice.quanta));
      gain = std::max(gain, -reduced_.back());
    }
    for (std::size_t i = begins_[segment]; i < begins_[segment + 1]; ++i) reduced_[i] += gain;
    idle_.push_back(gain);
    bound_ -= gain;
  }
  return true;
}

/// The price with the greatest bound, or nearly so. As a function of the price the bound is concave, and each sum
/// of choices is a line above it: the price is where two lines meet that no other one undercuts.
double PlanSearch::dearest_quantum(int quanta, const Sum& most) const {
  Sum low;
  Sum high = most;
  for (;;) {
    const double price = (high.cost - low.cost) / static_cast<double>(high.quanta - low.quanta);
    const Sum found = choose_at(price);
    if (found.quanta <= low.quanta || found.quanta >= high.quanta) return price;
    const double above = low.cost + price * static_cast<double>(quanta - low.quanta);
    const double bound = found.cost + price * static_cast<double>(quanta - found.quanta);
    if (above - bound <= kNearEnough * above) return price;
    (found.quanta < quanta ? low : high) = found;
  }
}

PlanSearch::Sum PlanSearch::choose_most() const {
  Sum sum;
  for (std::size_t segment = 0; segment + 1 < begins_.size(); ++segment) {
    Sum most;
    for (const Choice& choice : of(segment)) {
      if (choice.quanta < most.quanta) continue;
      if (choice.quanta == most.quanta && choice.cost >= most.cost) continue;
      most = {choice.cost, choice.quanta};
    }
    sum.cost += most.cost;
    sum.quanta += most.quanta;
  }
  return sum;
}

PlanSearch::Sum PlanSearch::choose_at(double price) const {
  Sum sum;
  for (std::size_t segment = 0; segment + 1 < begins_.size(); ++segment) {
    double gain = 0.0;
    Sum best;
    for (const Choice& choice : of(segment)) {
      // Without a branch: which one is better cannot be foretold.
      const double own = price * static_cast<double>(choice.quanta) - choice.cost;
      const bool is_better = own > gain;
      gain = is_better ? own : gain;
      best.cost = is_better ? choice.cost : best.cost;
      best.quanta = is_better ? choice.quanta : best.quanta;
    }
    sum.cost += best.cost;
    sum.quanta += best.quanta;
  }
  return sum;
}

/// The choices that some plan may have that costs no more than `limit`. False if these are all.
bool PlanSearch::keep(double limit) {
  const double most = limit - bound_ + limit * kRounding;
  kept_.clear();
  kept_begins_.assign(1, 0);
  is_busy_.clear();
  bool is_all = true;
  for (std::size_t segment = 0; segment + 1 < begins_.size(); ++segment) {
    for (std::size_t i = begins_[segment]; i < begins_[segment + 1]; ++i) {
      if (reduced_[i] <= most) kept_.push_back(choices_[i].configuration);
    }
    kept_begins_.push_back(kept_.size());
    is_busy_.push_back(idle_[segment] > most ? 1 : 0);
    is_all = is_all && idle_[segment] <= most;
  }
  return !is_all || kept_.size() < choices_.size();
}

}  // namespace gpusched
