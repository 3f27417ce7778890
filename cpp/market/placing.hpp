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

/// Turns what jobs shall hold into GPUs, and makes use of what finds no place so.
class MatchingPlacing {
 public:
  /// Jobs without GPUs that are offered idle ones.
  static constexpr std::size_t kOffers = 64;

  /// A gang moves to fewer servers where it ends earlier by more than the part `least_gain` of the
  /// time it has left.
  void begin(const Setup& setup, double least_gain);

  /// For what jobs shall hold.
  [[nodiscard]] Reallocation& reallocation() noexcept { return reallocation_; }
  /// What was added to the reallocation may find no place on any server; others may, at their own
  /// widths: those that `next` names.
  void apply(const State& state, Actions& actions, Reallocation::Others others,
             const std::function<std::optional<JobId>()>& next);
  /// Gangs that are slower than they would be on fewer servers, where there are such now: all of
  /// a type together, or one alone. Of those that ran before.
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

  /// Jobs that started since the last `apply` though nobody wanted it.
  [[nodiscard]] std::span<const JobId> others() const noexcept { return others_; }
  /// Jobs that may hold other GPUs since the last `apply` though nobody wanted it; maybe more than
  /// once.
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
