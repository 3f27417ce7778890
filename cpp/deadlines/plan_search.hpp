#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadlines/plan_oracle.hpp"
#include "solvers/segment_choices.hpp"

namespace gpusched {

/// Finds the plan of PlanOracle, bit for bit, but faster: it searches the plans whose cost is near
/// a lower bound, and more only if there is none. Few options and few remaining quanta per segment
/// belong to such plans. The bound is the linear relaxation of a multiple-choice knapsack problem
/// (the search for a plan without the loss of changes); reduced costs exclude options (Kellerer,
/// Pferschy, Pisinger: Knapsack Problems, 2004, chapter 11). Keeps its memory between calls.
class PlanSearch {
 public:
  /// As PlanOracle::solve().
  bool solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus, int quanta,
             int current, bool is_fresh);
  /// The same where `choices` are what the options cost and do at most, in quanta.
  bool solve(std::span<const PlanOption> options, SegmentChoices& choices,
             std::span<const std::int32_t> gpus, int quanta, int current, bool is_fresh);

  [[nodiscard]] double cost() const noexcept { return oracle_.cost(); }
  [[nodiscard]] std::span<const std::int32_t> choices() { return oracle_.choices(); }

 private:
  void find_choices(std::span<const PlanOption> options, std::size_t num_configurations,
                    int quanta);
  [[nodiscard]] bool find_bound(SegmentChoices& choices, int quanta);
  [[nodiscard]] bool keep(SegmentChoices& choices, double limit);

  PlanOracle oracle_;
  SegmentChoices own_choices_;  // where none were given
  double bound_ = 0.0;           // no plan costs less
  // The options examined, as in PlanCore.
  std::vector<std::uint32_t> kept_;
  std::vector<std::size_t> kept_begins_;
  std::vector<std::uint8_t> is_busy_;
};

}  // namespace gpusched
