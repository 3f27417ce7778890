#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// What it costs to run one configuration through one segment of a job's window, and the quanta
/// of the job's work that this does. Negative quanta: it cannot be done in that way.
struct PlanOption {
  double cost;           ///< infinity: the configuration does not fit
  std::int32_t same;     ///< where the configuration ran on into the segment; at least `changed`
  std::int32_t changed;  ///< where another one did, or none
  std::int32_t first;    ///< where the job has never run; at least `changed`
  bool goes_on;          ///< it still runs when the segment ends
};

/// The cheapest way to do `quanta` of work, one configuration or none in each segment, by dynamic
/// programming over (segment, quanta left, configuration that runs). Of equally cheap ways it
/// prefers, from the first segment on, to run, on fewer GPUs, on the configuration that runs, the
/// first one. Keeps its memory between calls.
class PlanOracle {
 public:
  /// `options` by segment, then configuration; `gpus` of each configuration. `current` runs when
  /// the first segment begins, -1: none. `is_fresh`: the job has never run, and its first run does
  /// something; then -1 runs. `is_busy`: segments in which some configuration must run until the
  /// work is done; empty: none of them. False if no choice does the work. O(segments x quanta x
  /// configurations).
  bool solve(std::span<const PlanOption> options, std::span<const std::int32_t> gpus, int quanta,
             int current, bool is_fresh, std::span<const std::uint8_t> is_busy = {});

  /// Of the last solution: its cost, and the configuration in each segment, -1 for none. The
  /// options must still be there.
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
  /// What is shared, what each configuration knows better, and the job's very first run.
  [[nodiscard]] std::size_t rows_per_segment() const noexcept { return num_configurations_ + 2; }
  /// The configurations that fit in the segment.
  [[nodiscard]] std::span<const std::uint32_t> fitting(std::size_t segment) const noexcept {
    return std::span(fitting_).subspan(begins_[segment], begins_[segment + 1] - begins_[segment]);
  }
  [[nodiscard]] bool is_idle_first_run(int done, int left) const noexcept;
  [[nodiscard]] bool may_run_on(std::size_t segment, std::size_t configuration) const noexcept;
  [[nodiscard]] bool may_idle(std::size_t segment) const noexcept {
    return is_busy_.empty() || is_busy_[segment] == 0;
  }
  void find_fitting();
  void find_ranges();
  void fill(std::size_t segment);
  [[nodiscard]] double value(std::size_t segment, std::size_t configuration, int done, int left);

  std::span<const PlanOption> options_;
  std::span<const std::int32_t> gpus_;
  std::span<const std::uint8_t> is_busy_;
  std::size_t num_configurations_ = 0;
  std::size_t num_segments_ = 0;
  int quanta_ = 0;
  int current_ = -1;
  bool is_fresh_ = false;
  double cost_ = 0.0;
  std::vector<std::int32_t> choices_;
  std::vector<std::uint32_t> fitting_;  // of each segment, which begins at `begins_`
  std::vector<std::size_t> begins_;
  // Of each segment: the quanta left that can be reached from the window's begin, and those that
  // can still be done. Nothing outside is computed or read.
  std::vector<int> least_;
  std::vector<int> most_;
  std::vector<int> best_;  // of each segment alone, the most quanta that it does
  std::vector<double> cells_;
  std::vector<double*> rows_;  // of each segment and configuration that runs; shared where equal
};

}  // namespace gpusched
