#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadlines/plan_oracle.hpp"

namespace gpusched {

/// Finds what PlanOracle finds, to the last bit, and sooner: among the plans whose cost is near a
/// bound, and among more only where none was. Few options, and few quanta left in each segment,
/// belong to such a plan. The bound is the linear relaxation of a multiple-choice knapsack problem,
/// which the search for a plan is but for what changes lose; options are left out by their reduced
/// costs (Kellerer, Pferschy, Pisinger: Knapsack Problems, 2004, chapter 11). Keeps its memory
/// between calls.
class PlanSearch {
 public:
  /// As PlanOracle::solve().
  bool solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus, int quanta,
             int current, bool is_fresh);

  [[nodiscard]] double cost() const noexcept { return oracle_.cost(); }
  [[nodiscard]] std::span<const std::int32_t> choices() { return oracle_.choices(); }

 private:
  /// From one corner of the lower hull of a segment's options (quanta, cost) to the next.
  struct Edge {
    double price;  ///< of a quantum
    std::int32_t quanta;
  };

  struct Corner {
    double cost;
    std::int32_t quanta;
  };

  void find_edges(std::span<const PlanOption> options, std::size_t num_configurations, int quanta);
  [[nodiscard]] bool find_bound(std::span<const PlanOption> options, std::size_t num_configurations,
                                int quanta);
  [[nodiscard]] bool keep(std::span<const PlanOption> options, double limit);

  PlanOracle oracle_;
  std::vector<Corner> corners_;  // of a segment
  std::vector<Edge> edges_;       // of all segments
  double bound_ = 0.0;            // no plan costs less
  std::vector<double> reduced_;   // of each option: so much more, at least, costs a plan with it
  std::vector<double> idle_;      // the same of no option, of each segment
  std::vector<PlanOption> kept_;
  std::vector<std::uint8_t> is_busy_;  // whether it is more than was looked for
};

}  // namespace gpusched
