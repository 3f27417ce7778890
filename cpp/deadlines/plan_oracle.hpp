#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/program_rows.hpp"

namespace gpusched {

/// Cost of running one configuration through one segment of a job's window, and the quanta of the
/// job's work done. Negative quanta: impossible.
struct PlanOption {
  double cost;           ///< infinity: the configuration does not fit
  std::int32_t same;     ///< where the configuration ran on into the segment; at least `changed`
  std::int32_t changed;  ///< where another one did, or none
  std::int32_t first;    ///< where the job has never run; at least `changed`
  bool goes_on;          ///< it still runs when the segment ends
};

/// The part of a program that is looked at.
struct PlanCore {
  /// The configurations [begins[s], begins[s + 1]) may run in segment s, ascending.
  std::span<const std::uint32_t> configurations;
  std::span<const std::size_t> begins;
  /// Segments in which some configuration must run until the work is done; empty: none of them.
  std::span<const std::uint8_t> is_busy;

  [[nodiscard]] std::span<const std::uint32_t> of(std::size_t segment) const noexcept {
    return configurations.subspan(begins[segment], begins[segment + 1] - begins[segment]);
  }
};

/// The cheapest way to do `quanta` of work, one configuration or none in each segment, by dynamic
/// programming over (segment, quanta left, configuration that runs). Of equally cheap ways it
/// prefers, from the first segment on, to run, on fewer GPUs, on the configuration that runs, the
/// first one. Keeps its memory between calls.
class PlanOracle {
 public:
  /// `options` by segment, then configuration; `gpus` of each configuration. `current` runs when
  /// the first segment begins, -1: none. `is_fresh`: the job has never run, and its first run does
  /// something; then -1 runs. False if no choice does the work. O(segments x quanta x
  /// configurations).
  bool solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus, int quanta,
             int current, bool is_fresh);
  /// The same within the core, whose options all fit.
  bool solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus, int quanta,
             int current, bool is_fresh, const PlanCore& core);

  /// The last solution: its cost, and the configuration in each segment, -1 for none. The options
  /// and the core must still exist.
  [[nodiscard]] double cost() const noexcept { return cost_; }
  [[nodiscard]] std::span<const std::int32_t> choices();

 private:
  [[nodiscard]] const PlanOption& option(std::size_t segment, std::size_t configuration) const {
    return options_[segment * num_configurations_ + configuration];
  }
  [[nodiscard]] double*& row(std::size_t segment, std::size_t previous) {
    return rows_[segment * (num_configurations_ + 1) + previous];
  }
  [[nodiscard]] const double* next_row(std::size_t segment, std::size_t configuration) {
    const std::size_t idle = num_configurations_;
    return row(segment + 1, option(segment, configuration).goes_on ? configuration : idle);
  }
  /// Cells from 0 on; those before them are 0: when all is done nothing is to be paid.
  [[nodiscard]] double* new_row(std::size_t segment);
  [[nodiscard]] bool is_idle_first_run(int done, int left) const noexcept;
  /// Whether the configuration does more where it ran before than where another one did.
  [[nodiscard]] bool knows_better(std::size_t segment, std::size_t configuration) const noexcept {
    const PlanOption& o = option(segment, configuration);
    return o.same >= 0 && o.same != o.changed;
  }
  [[nodiscard]] bool may_run_on(std::size_t segment, std::size_t configuration) const noexcept;
  [[nodiscard]] bool may_idle(std::size_t segment) const noexcept {
    return core_.is_busy.empty() || core_.is_busy[segment] == 0;
  }
  void find_fitting(std::span<const PlanOption> options, std::size_t num_configurations);
  void find_ranges();
  void reserve_rows();
  void fill(std::size_t segment);
  void fill_shared(std::size_t segment, double* shared);
  void fill_first_run(std::size_t segment, const double* shared);
  [[nodiscard]] double value(std::size_t segment, std::size_t configuration, int done, int left);

  std::span<const PlanOption> options_;
  std::span<const std::int32_t> gpus_;
  PlanCore core_;
  std::size_t num_configurations_ = 0;
  std::size_t num_segments_ = 0;
  int quanta_ = 0;
  int current_ = -1;
  bool is_fresh_ = false;
  double cost_ = 0.0;
  std::vector<std::int32_t> choices_;
  // By segment (starting at `begins_`): the configurations that fit.
  std::vector<std::uint32_t> fitting_;
  std::vector<std::size_t> begins_;
  // By segment: the remaining quanta that are reachable from the window's start, and those that can
  // still be done. Nothing outside is computed or read.
  std::vector<int> least_;
  std::vector<int> most_;
  std::vector<int> best_;  // of each segment alone, the maximum number of quanta
  std::vector<double> cells_;
  std::size_t row_width_ = 0;
  std::size_t num_rows_ = 0;  // in use
  std::vector<RowTransition> ways_;
  std::vector<double*> rows_;  // of each segment and configuration that runs; shared where equal
};

}  // namespace gpusched
