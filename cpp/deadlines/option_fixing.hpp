#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadlines/plan_oracle.hpp"

namespace gpusched {

/// Takes out options that no cheapest plan uses, before one is looked for: the fixing of variables
/// by reduced costs of a multiple-choice knapsack problem, which the search for a plan is but for
/// what changes lose. (Kellerer, Pferschy, Pisinger: Knapsack Problems, 2004, chapter 11.) Keeps
/// its memory between calls.
class OptionFixing {
 public:
  /// `options` by segment, then configuration. Those taken out cost infinity. What PlanOracle
  /// finds afterwards is the same to the last bit, and whether it finds something.
  void fix(std::span<PlanOption> options, std::size_t num_configurations, int quanta);

 private:
  /// From one corner of the lower hull of a segment's options (quanta, cost) to the next.
  struct Edge {
    double price;  ///< of a quantum
    std::int32_t quanta;
    std::int32_t segment;
    std::int32_t option;  ///< of the segment, at its end
  };

  void find_edges(std::span<const PlanOption> options, std::size_t num_configurations, int quanta);
  [[nodiscard]] double cost_of_a_plan(std::span<const PlanOption> options,
                                      std::size_t num_configurations, int quanta);
  [[nodiscard]] double greatest_saving(std::span<const PlanOption> options,
                                       std::size_t num_configurations, int surplus) const;

  std::vector<Edge> edges_;  // cheapest quanta first
  std::vector<std::int32_t> chosen_;  // in each segment; -1: none
  std::vector<double> gains_;
};

}  // namespace gpusched
