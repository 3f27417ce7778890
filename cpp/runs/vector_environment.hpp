#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "runs/environment.hpp"

namespace gpusched {

/// Parallel environments, one per lane: one call answers all, and their observations are in
/// contiguous arrays, lane by lane.
class VectorEnvironment {
 public:
  /// The cluster outlives it. Throws InvalidInput without lanes or slots.
  VectorEnvironment(const Cluster& cluster, EnvironmentRules rules, std::size_t num_lanes);

  /// A new run in this lane; the jobs outlive that.
  void begin(std::size_t lane, const JobTable& jobs, std::uint64_t num_feasible,
             std::uint64_t seed);
  /// Answers each lane with an unfinished run; the others have a reward of 0. Throws InvalidInput,
  /// without answering any, unless each lane has a run and an answer.
  void answer(std::span<const std::int64_t> slots);

  [[nodiscard]] std::size_t num_lanes() const noexcept { return runs_.size(); }
  [[nodiscard]] std::size_t num_features() const noexcept { return num_features_; }
  [[nodiscard]] std::size_t num_answers() const noexcept { return rules_.num_slots + 1; }
  /// Throws InvalidInput if the lane has none.
  [[nodiscard]] const Environment& run(std::size_t lane) const;

  /// Observations of the lanes, in order: num_features() each, and num_answers() each.
  [[nodiscard]] std::span<const float> features() const noexcept { return features_; }
  [[nodiscard]] std::span<const std::uint8_t> allowed() const noexcept { return allowed_; }
  /// Of the last answer, one per lane: the negative cost, whether the run is over, and whether the
  /// answer was allowed.
  [[nodiscard]] std::span<const double> rewards() const noexcept { return rewards_; }
  [[nodiscard]] std::span<const std::uint8_t> is_over() const noexcept { return is_over_; }
  [[nodiscard]] std::span<const std::uint8_t> was_allowed() const noexcept { return was_allowed_; }

 private:
  void show(std::size_t lane);

  const Cluster& cluster_;
  EnvironmentRules rules_;
  std::size_t num_features_;
  std::vector<std::unique_ptr<Environment>> runs_;
  std::vector<float> features_;
  std::vector<std::uint8_t> allowed_;
  std::vector<double> rewards_;
  std::vector<std::uint8_t> is_over_;
  std::vector<std::uint8_t> was_allowed_;
};

}  // namespace gpusched
