#pragma once

#include <memory>
#include <set>
#include <vector>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "queueing/defragmentation.hpp"
#include "queueing/placeable_classes.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Non-preemptive list scheduling: walks the waiting jobs in the order's sequence and starts those
/// that can be placed. `strict` stops at the first that cannot, `skip` continues. Jobs that have
/// waited for `patience_s` go before all others, by submission, and no job passes them. With
/// `defrag=blocked` running jobs move where that makes room.
class ListScheduler final : public Scheduler {
 public:
  ListScheduler(Owned<Order> order, const Parameters& parameters);

  /// The parameters of every non-preemptive order; `strict` is the default scan.
  static std::vector<ParameterInfo> parameters(bool strict);

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] bool adopt(const State& /*state*/) override { return true; }
  [[nodiscard]] bool takes_outages() const override { return true; }
  [[nodiscard]] bool takes_windows() const override { return true; }
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;

 private:
  void enqueue(const State& state, std::span<const JobId> jobs);
  [[nodiscard]] std::vector<JobId> drain();
  void rerank(const State& state);
  void start_first(const State& state, Actions& actions);
  void scan_skip(const State& state, Actions& actions);
  void decide_strict(const State& state, const Instant& instant, Actions& actions);
  void decide_skip(const State& state, const Instant& instant, Actions& actions);
  [[nodiscard]] JobId first_waiting(const State& state);
  [[gnu::noinline, gnu::cold]] void decide_guarded(const State& state, const Instant& instant,
                                                   Actions& actions);
  [[nodiscard]] bool start_overdue(const State& state, Actions& actions);
  void start_others(const State& state, Actions& actions);
  bool start_or_clear(const State& state, JobId job, Actions& actions);
  [[nodiscard]] Time end_of_patience(const State& state, JobId job) const {
    return state.queue_time(job) + patience_;
  }
  [[nodiscard]] static KeyedJob queued(const State& state, JobId job) {
    return {queue_key(state, job), job};
  }
  bool try_start(const State& state, JobId job, Actions& actions);

  Owned<Order> order_;
  bool is_strict_;
  bool is_clocked_;
  bool clears_;
  Time patience_;    // 0: without end
  bool is_guarded_;  // by one of the two
  Ref<Placement> placement_;
  std::uint64_t seed_ = 0;
  RunHeap<KeyedJob> line_;  // the waiting jobs when strict
  WaitingQueue queue_;      // and when skipping
  // Where patience has an end the same in the order of submission, and some that have started since.
  std::set<KeyedJob> waiting_;
  PlaceableClasses placeable_;
  Defragmentation defragmentation_;
  Allocation allocation_;
  std::vector<double> keys_;
};

}  // namespace gpusched
