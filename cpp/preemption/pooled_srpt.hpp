#pragma once

#include <vector>

#include "queueing/running_index.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// SRTF with skipping on a single pool of GPUs, incrementally. The remaining service of a running
/// job is (end - now), so running jobs keep their order; that of a waiting job is constant. So the
/// greedy choice stays valid over time, and an event changes it only from the first waiting head
/// that newly fits onwards. Equal to PreemptiveScheduler, its slow reference (tests/parity).
class PooledSrpt final : public Scheduler {
 public:
  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;

 private:
  /// A waiting job by its remaining service, frozen until it runs again.
  struct Waiting {
    Time remaining;
    JobId job;

    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return a.remaining != b.remaining ? a.remaining < b.remaining : a.job < b.job;
    }
  };

  /// A job that was started, and whether it had been evicted, so that it runs on.
  struct Returned {
    JobId job;
    bool has_stayed;

    friend bool operator<(const Returned& a, const Returned& b) noexcept { return a.job < b.job; }
  };

  void push(const State& state, JobId job, Time remaining);
  [[nodiscard]] bool fits(const State& state, int gpus, const Waiting& job) const;
  void admit(const State& state, ClassId id);
  void evict(const State& state);
  void settle(const State& state);
  void forget_returned();

  std::int64_t num_gpus_ = 0;
  RunningIndex running_;
  std::vector<Heap<Waiting>> waiting_;
  std::size_t num_waiting_ = 0;
  /// GPUs released so far, and by class the count at which its head may fit: its shortage at the
  /// last check, a lower bound because running jobs only move ahead of it.
  std::int64_t num_released_ = 0;
  std::vector<std::int64_t> retry_at_;
  std::vector<JobId> started_;
  std::vector<JobId> evicted_;
  std::vector<Returned> returned_;
  Allocation allocation_;
};

}  // namespace gpusched
