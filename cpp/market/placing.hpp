#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "elastic/consolidation.hpp"
#include "elastic/reallocation.hpp"
#include "market/market_jobs.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Turns the jobs' targets into GPUs, and uses GPUs for which no target fits.
class MatchingPlacing {
 public:
  /// Jobs without GPUs that are offered idle ones.
  static constexpr std::size_t kOffers = 64;

  /// A job moves to fewer servers if it then ends earlier by more than `least_gain` of its
  /// remaining time.
  void begin(const Setup& setup, double least_gain);

  /// The targets of the jobs.
  [[nodiscard]] Reallocation& reallocation() noexcept { return reallocation_; }
  /// Applies the reallocation. If targets do not fit on any server, other jobs named by `next` may
  /// get these GPUs at their own widths.
  void apply(const State& state, Actions& actions, Reallocation::Others others,
             const std::function<std::optional<JobId>()>& next);
  /// Jobs that would be faster on fewer servers, if such are free now: all of a type together, or
  /// one alone. Only jobs that ran before.
  template <class Running, class JobOf>
  void consolidate(const State& state, Actions& actions, const Running& running, JobOf job_of) {
    for (int type = 0; type < state.cluster().num_types(); ++type) {
      spread_.clear();
      for (const auto& entry : running) {
        const MatchingJobs::Job& job = job_of(entry);
        if (would_gain(state, job, type)) spread_.push_back(job.id);
      }
      if (spread_.empty() || move_together(state, spread_, actions)) continue;
      if (spread_.size() == 1) continue;
      for (const JobId& job : spread_) move_together(state, {&job, 1}, actions);
    }
  }

  /// Jobs started since the last `apply()` that were not in its target.
  [[nodiscard]] std::span<const JobId> others() const noexcept { return others_; }
  /// Jobs with possibly changed GPUs since the last `apply()` without a target; maybe repeated.
  [[nodiscard]] std::span<const JobId> moved() const noexcept { return moved_; }

 private:
  void start_others(const State& state, Actions& actions,
                    const std::function<std::optional<JobId>()>& next);
  [[nodiscard]] bool would_gain(const State& state, const MatchingJobs::Job& job, int type) const;
  bool move_together(const State& state, std::span<const JobId> jobs, Actions& actions);

  double least_gain_ = 0;
  Reallocation reallocation_;
  Consolidation consolidation_;
  Ref<Placement> placement_;
  Allocation allocation_;
  std::vector<JobId> spread_, others_, moved_;
};

}  // namespace gpusched
