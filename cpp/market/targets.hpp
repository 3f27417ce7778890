#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "elastic/reallocation.hpp"
#include "market/market_jobs.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The target GPUs of each job by type, and the idle GPUs left.
class MatchingTargets {
 public:
  using Row = MatchingJobs::Row;

  /// Nothing for anybody; all GPUs are idle.
  void open(const State& state, const MatchingJobs& jobs);

  [[nodiscard]] std::span<const Part> of(Row job) const noexcept { return targets_[job]; }
  /// The present GPUs of the job.
  [[nodiscard]] std::span<const Part> held(Row job) const noexcept { return held_[job]; }
  /// The jobs with a target, each once.
  [[nodiscard]] std::span<const Row> given() const noexcept { return given_; }
  [[nodiscard]] bool is_anything_idle() const noexcept;

  /// GPUs of these types; parts of one type may repeat. Nothing where the job cannot run so.
  void give(const State& state, Row job, std::span<const Part> parts);
  /// Each of the jobs its only width where a market would have nothing to choose: GPUs of one class
  /// and no second width. False, and nothing is given, elsewhere.
  [[nodiscard]] bool give_only_widths(const State& state, std::span<const Row> jobs);
  /// Idle GPUs for a job without any: its least width, on the types fastest for it; where types do
  /// not add up, the fastest of its widths.
  void give_idle(const State& state, Row job);
  /// Gives idle GPUs, as many of a type as possible, to those of the jobs that have some and then
  /// end earlier by more than `least_gain` of their remaining time, including the restart; the
  /// greatest gain in weighted seconds first, with a weight for each of `jobs`. Only if types add
  /// up.
  void grow(const State& state, std::span<const Row> jobs, std::span<const double> weight,
            double least_gain);

 private:
  [[nodiscard]] const MatchingJobs::Job& job_at(Row job) const noexcept { return jobs_->at(job); }
  void gather(const MatchingJobs::Job& job, std::vector<Part>& parts) const;
  void take(std::span<const Part> parts);
  /// The job shall hold what its target says.
  void settle(Row job);
  static void add(const Part& more, std::vector<Part>& parts);

  Ref<const MatchingJobs> jobs_;
  std::vector<std::vector<Part>> targets_, held_;  // by row
  std::vector<Row> given_, holders_;  // rows with a possibly non-empty target, or allocation
  std::vector<std::int32_t> idle_;  // of each type
  std::vector<Part> wider_;
};

}  // namespace gpusched
