#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/clone.hpp"
#include "base/flags.hpp"
#include "base/parameters.hpp"
#include "queueing/waiting_queue.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Preemptive list scheduling: give out all GPUs in the order's sequence, keep the selected running
/// jobs, place the selected waiting ones, preempt the holders of claimed GPUs, and let all others
/// run on. The five steps are in docs/reference/policies-queues.md.
class PreemptiveScheduler : public Scheduler {
 public:
  PreemptiveScheduler(Owned<Order> order, const Parameters& parameters);

  /// The parameters of every preemptive order.
  static std::vector<ParameterInfo> parameters();
  /// When an order may take GPUs back that does not ask for instants of its own.
  static PreemptionBound preemption() {
    return {.at_arrivals = true,
            .at_finishes = true,
            .period = "period_s",
            .reason =
                "GPUs are reassigned when a job arrives or finishes, and at requested multiples "
                "of the period."};
  }

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] bool adopt(const State& state) override;
  [[nodiscard]] bool takes_outages() const override { return !order_->remembers(); }
  [[nodiscard]] bool takes_windows() const override { return takes_outages(); }
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;
  [[nodiscard]] RestartRule restart_rule() const override { return rule_; }

  [[nodiscard]] Order& order() noexcept { return *order_; }
  /// Whether GPUs are given out at this instant, if any job waits.
  [[nodiscard]] bool is_to_decide(const State& state) const {
    return !is_periodic_ || is_due(state);
  }
  /// Whether no run is preempted before it has lasted for some time.
  [[nodiscard]] bool keeps_young() const noexcept { return least_run_ > Time{0}; }
  /// Continues a run in which another scheduler has decided: with all its waiting and running jobs.
  void take_over(const State& state, std::vector<JobId> waiting, std::span<const JobId> running);
  /// Asks for the next decision; `crossing`: the next step of a key.
  void ask_again(const State& state, bool waits, Time crossing, Actions& actions) const;

 protected:
  /// In place of the precedence of a running job that may not be preempted yet: before all others.
  static constexpr std::int32_t kYoung = -1;

  /// Step 1: moves the jobs that shall run from `queue_` to `taken_`, in key order, and splits
  /// the sorted `running_` into `kept_` and `untaken_`.
  virtual void choose(const State& state);

  void take_waiting(ClassId id, KeyedJob job);

  struct Waiting {
    KeyedJob job;
    ClassId id;
  };

  WaitingQueue queue_;
  std::vector<KeyedJob> running_;  // sorted, with the keys of the present decision
  std::vector<Waiting> taken_;
  std::vector<KeyedJob> kept_;
  std::vector<KeyedJob> untaken_;

 private:
  void forget(std::span<const JobId> finished);
  void redistribute(const State& state, Actions& actions);
  void rank_running(const State& state);
  void enqueue(const State& state, std::span<const JobId> jobs);
  void place_taken(const State& state, Actions& actions);
  bool try_start(const State& state, JobId job, Actions& actions);
  bool try_displace(const State& state, const KeyedJob& job, Actions& actions);
  void start_all(const State& state, Actions& actions);
  void start_others(const State& state, Actions& actions);
  [[nodiscard]] Time least_gain(const State& state, JobId job, Time time) const;
  void check_waste(const State& state) const;
  void check_progress(const State& state) const;
  [[nodiscard]] bool is_due(const State& state) const;
  [[nodiscard]] Time next_crossing(const State& state) const;
  [[nodiscard]] Time end_of_youth(const State& state) const;

  Owned<Order> order_;
  RestartRule rule_;
  KeyLifetime lifetime_;
  bool is_strict_;
  bool holds_quota_;
  bool displaces_;
  bool is_periodic_;
  bool has_lost_gpus_ = false;  // in this decision
  Time period_;
  Time least_run_;
  Ref<Placement> placement_;
  std::uint64_t seed_ = 0;
  std::int64_t active_gpus_ = 0;  // of running and waiting jobs together
  Allocation allocation_;
  std::vector<JobId> unranked_;
  std::vector<JobId> preempted_;
  std::vector<Waiting> refused_;
  std::vector<KeyedJob> started_;
  std::vector<JobId> jobs_;
  std::vector<double> keys_;
};

}  // namespace gpusched
