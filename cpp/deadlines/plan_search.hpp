#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "deadlines/plan_oracle.hpp"
#include "solvers/segment_choices.hpp"

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
  void find_choices(std::span<const PlanOption> options, std::size_t num_configurations,
                    int quanta);
  [[nodiscard]] bool find_bound(int quanta);
  [[nodiscard]] double dearest_quantum(double quanta, const SegmentChoices::Sum& most);
  [[nodiscard]] bool keep(double limit);

  PlanOracle oracle_;
  SegmentChoices choices_;  // what is done: quanta
  std::size_t num_segments_ = 0;
  std::size_t num_configurations_ = 0;
  std::size_t num_fitting_ = 0;  // of the choices
  double bound_ = 0.0;           // no plan costs less
  double price_ = 0.0;           // of a quantum, at which the bound was found
  // What is looked at, as in PlanCore.
  std::vector<std::uint32_t> kept_;
  std::vector<std::size_t> kept_begins_;
  std::vector<std::uint8_t> is_busy_;
};

}  // namespace gpusched
