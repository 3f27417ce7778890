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
  /// What a configuration that fits in a segment costs and does, whatever ran before.
  struct Choice {
    double cost;
    std::int32_t quanta;
    std::uint32_t configuration;
  };
  /// What one choice in each segment, or none, costs and does together.
  struct Sum {
    double cost = 0.0;
    std::int64_t quanta = 0;
  };

  void find_choices(std::span<const PlanOption> options, std::size_t num_configurations,
                    int quanta);
  [[nodiscard]] bool find_bound(int quanta);
  [[nodiscard]] double dearest_quantum(int quanta, const Sum& most) const;
  [[nodiscard]] Sum choose_most() const;
  [[nodiscard]] Sum choose_at(double price) const;
  [[nodiscard]] bool keep(double limit);

  [[nodiscard]] std::span<const Choice> of(std::size_t segment) const noexcept {
    return std::span(choices_).subspan(begins_[segment], begins_[segment + 1] - begins_[segment]);
  }

  PlanOracle oracle_;
  std::vector<Choice> choices_;  // of each segment, which begins at `begins_`
  std::vector<std::size_t> begins_;
  double bound_ = 0.0;           // no plan costs less
  std::vector<double> reduced_;  // of each choice: so much more, at least, costs a plan with it
  std::vector<double> idle_;     // the same of no choice, of each segment
  // What is looked at, as in PlanCore.
  std::vector<std::uint32_t> kept_;
  std::vector<std::size_t> kept_begins_;
  std::vector<std::uint8_t> is_busy_;
};

}  // namespace gpusched
