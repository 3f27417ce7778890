#include "deadlines/option_fixing.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Of a plan's cost, far more than sums in another order can differ by.
constexpr double kRounding = 1e-9;

/// At most so many, whatever ran before.
std::int32_t most_quanta(const PlanOption& option, int quanta) noexcept {
  return std::min(std::max(option.same, option.first), quanta);
}

/// At least so many, whatever ran before; an option that may do nothing is not counted on.
std::int32_t least_quanta(const PlanOption& option) noexcept {
  return option.cost < kInfinity ? std::max(option.changed, 0) : 0;
}

}  // namespace

void OptionFixing::fix(std::span<PlanOption> options, std::size_t num_configurations, int quanta) {
  if (quanta <= 0 || num_configurations == 0) return;
  find_edges(options, num_configurations, quanta);
  // The relaxation takes the cheapest quanta, and of the last edge a part.
  double price = 0.0;
  std::int64_t done = 0;
  for (const Edge& edge : edges_) {
    done += edge.quanta;
    price = edge.price;
    if (done >= quanta) break;
  }
  if (done < quanta) return;
  const double limit = cost_of_a_plan(options, num_configurations, quanta);
  if (limit == kInfinity) return;

  // With a quantum at that price each segment chooses for itself: a bound from below, and how much
  // greater it is where a segment is made to choose otherwise.
  double bound = price * static_cast<double>(quanta);
  gains_.clear();
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    double gain = 0.0;
    for (const PlanOption& o : options.subspan(begin, num_configurations)) {
      gain = std::max(gain, price * static_cast<double>(most_quanta(o, quanta)) - o.cost);
    }
    gains_.push_back(gain);
    bound -= gain;
  }
  const double gap = limit - bound + limit * kRounding;
  for (std::size_t i = 0; i < options.size(); ++i) {
    PlanOption& o = options[i];
    const double own = price * static_cast<double>(most_quanta(o, quanta)) - o.cost;
    if (gains_[i / num_configurations] - own > gap) o.cost = kInfinity;
  }
}

void OptionFixing::find_edges(std::span<const PlanOption> options, std::size_t num_configurations,
                              int quanta) {
  edges_.clear();
  for (std::size_t begin = 0; begin < options.size(); begin += num_configurations) {
    const auto segment = static_cast<std::int32_t>(begin / num_configurations);
    std::int32_t done = 0;
    double cost = 0.0;
    for (;;) {
      Edge edge{kInfinity, 0, segment, -1};
      for (std::size_t c = 0; c < num_configurations; ++c) {
        const PlanOption& o = options[begin + c];
        const std::int32_t more = most_quanta(o, quanta) - done;
        if (more <= 0 || o.cost == kInfinity) continue;
        const double price = (o.cost - cost) / static_cast<double>(more);
        if (price < edge.price || (price == edge.price && more > edge.quanta)) {
          edge = {price, more, segment, static_cast<std::int32_t>(c)};
        }
      }
      if (edge.option < 0) break;
      edges_.push_back(edge);
      done += edge.quanta;
      cost = options[begin + static_cast<std::size_t>(edge.option)].cost;
    }
  }
  std::sort(edges_.begin(), edges_.end(), [](const Edge& a, const Edge& b) {
    if (a.price != b.price) return a.price < b.price;
    return a.segment != b.segment ? a.segment < b.segment : a.quanta < b.quanta;
  });
}

/// The cheapest quanta first, until what is surely done is enough; then what is saved at best by
/// one segment that does less. Infinity if that is no plan.
double OptionFixing::cost_of_a_plan(std::span<const PlanOption> options,
                                    std::size_t num_configurations, int quanta) {
  chosen_.assign(options.size() / num_configurations, -1);
  const auto at = [&](std::size_t segment) -> const PlanOption& {
    return options[segment * num_configurations + static_cast<std::size_t>(chosen_[segment])];
  };
  std::int64_t done = 0;
  for (const Edge& edge : edges_) {
    const auto segment = static_cast<std::size_t>(edge.segment);
    if (chosen_[segment] >= 0) done -= least_quanta(at(segment));
    chosen_[segment] = edge.option;
    done += least_quanta(at(segment));
    if (done >= quanta) break;
  }
  if (done < quanta) return kInfinity;
  double cost = 0.0;
  for (std::size_t segment = 0; segment < chosen_.size(); ++segment) {
    if (chosen_[segment] < 0) continue;
    if (least_quanta(at(segment)) == 0) return kInfinity;
    cost += at(segment).cost;
  }
  return cost - greatest_saving(options, num_configurations, static_cast<int>(done - quanta));
}

double OptionFixing::greatest_saving(std::span<const PlanOption> options,
                                     std::size_t num_configurations, int surplus) const {
  double most = 0.0;
  for (std::size_t segment = 0; segment < chosen_.size(); ++segment) {
    if (chosen_[segment] < 0) continue;
    const auto all = options.subspan(segment * num_configurations, num_configurations);
    const PlanOption& own = all[static_cast<std::size_t>(chosen_[segment])];
    const std::int32_t enough = least_quanta(own) - surplus;
    if (enough <= 0) most = std::max(most, own.cost);
    for (const PlanOption& o : all) {
      if (least_quanta(o) >= std::max(enough, 1)) most = std::max(most, own.cost - o.cost);
    }
  }
  return most;
}

}  // namespace gpusched
