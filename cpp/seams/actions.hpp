#pragma once

#include <cstdint>

#include "base/heap.hpp"
#include "base/time.hpp"
#include "engine/interval_log.hpp"
#include "engine/livelock.hpp"
#include "engine/progress.hpp"
#include "model/allocation.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// How a policy charges a job that resumes, beyond the job's own checkpoint and restart cost.
struct RestartRule {
  /// Added to the remaining service at the preemption, instead of held time at the resume.
  bool on_work = false;
  Time cost{0};
  Time wide_cost{0};
  int narrow_gpus = 8;

  [[nodiscard]] Time extra(int gpus) const noexcept {
    return gpus > narrow_gpus ? wide_cost : cost;
  }
};

/// The end of a run. Entries of runs that were preempted, or whose finish moved, stay in the heap
/// until they surface; the slot has another version by then. Ends of one instant come by slot: no
/// two entries are equal, so that no order rests on how a heap or a sort treats equals.
struct FinishEvent {
  Time at;
  std::uint32_t slot;
  std::uint32_t version;

  [[nodiscard]] std::uint64_t run() const noexcept {
    return std::uint64_t{slot} << 32 | version;
  }

  friend bool operator<(const FinishEvent& a, const FinishEvent& b) noexcept {
    // Without branches, of which a heap would guess half wrong.
    return (a.at < b.at) | ((a.at == b.at) & (a.run() < b.run()));
  }
};

/// What a scheduler does to a run. Every call is checked; a violation is an InvariantError that
/// names the time and the job.
class Actions {
 public:
  Actions(State& state, Progress& progress, RestartRule rule)
      : state_(state), progress_(progress), rule_(rule) {}

  /// A waiting job starts or resumes on free GPUs: the whole gang.
  void start(JobId job, const Allocation& allocation);
  /// A running job lets its GPUs go and waits again.
  void preempt(JobId job);
  /// As `preempt`, but `restore` can take it back within the same decision; the end of the
  /// decision makes it final.
  void suspend(JobId job);
  /// Undoes `suspend` if all the job's GPUs are still free; false if they are not.
  bool restore(JobId job);
  /// A running or suspended job goes on with other GPUs, of which some may be its own: it pays its
  /// restart cost and keeps its progress. Another width than its own needs an elastic speed.
  void resize(JobId job, const Allocation& allocation);
  /// Asks for a decision at `at`, which must lie ahead. The earliest request of a decision
  /// counts, and only until the next decision.
  void wake(Time at);

 private:
  friend class Simulation;

  void check_gang(JobId job, const Allocation& allocation) const;
  void check_width(JobId job, const Allocation& allocation) const;
  void check_piece(JobId job, const Piece& piece) const;
  [[noreturn, gnu::noinline, gnu::cold]] void fail(JobId job, const char* what) const;
  [[nodiscard]] Slot& running_slot(JobId job, const char* verb);
  void acquire(const Slot& slot) noexcept {
    if (const Demand* demand = state_.jobs_.demand(slot.job)) [[unlikely]] {
      state_.occupancy_.acquire(slot.gpus, slot.pieces, *demand);
    } else {
      state_.occupancy_.acquire(slot.gpus, slot.pieces);
    }
  }
  void release(const Slot& slot) noexcept {
    if (const Demand* demand = state_.jobs_.demand(slot.job)) [[unlikely]] {
      state_.occupancy_.release(slot.gpus, slot.pieces, *demand);
    } else {
      state_.occupancy_.release(slot.gpus, slot.pieces);
    }
  }
  void begin_run(std::uint32_t id, JobId job, const Allocation& allocation);
  [[nodiscard]] Time service_of_run(const Slot& slot, std::uint32_t id) const noexcept;
  void end_run(Slot& slot);
  void finish_decision();
  void move_finishes();
  void forget_stale();
  [[nodiscard]] bool is_stale(const FinishEvent& event) const noexcept {
    const Slot& slot = state_.slots_[event.slot];
    return !slot.is_busy() || slot.version != event.version;
  }

  State& state_;
  Progress& progress_;
  RestartRule rule_;
  IntervalLog log_;
  Turns turns_;
  Heap<FinishEvent> finishes_;
  std::size_t num_stale_ = 0;
  std::vector<JobId> suspended_;
  std::vector<std::int32_t> num_resizes_;  // of each job; empty before the first
  Time wake_ = kNever;
};

}  // namespace gpusched
