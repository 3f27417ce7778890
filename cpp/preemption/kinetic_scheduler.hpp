#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "listing/placeable_classes.hpp"
#include "preemption/claimable_gpus.hpp"
#include "preemption/kinetic_choice.hpp"
#include "preemption/preemptive_scheduler.hpp"

namespace gpusched {

/// Preemptive list scheduling that does work where something has changed: who changes sides in the
/// choice, and the classes for which GPUs have come free since they were refused. Gives the
/// schedule of PreemptiveScheduler, its slow twin, which takes over where keys are no lines.
class KineticScheduler : public Scheduler {
 public:
  /// `slow` was made with the parameters.
  KineticScheduler(Owned<PreemptiveScheduler> slow, ChoiceRule rule, const Parameters& parameters);

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  /// The slow twin goes on.
  [[nodiscard]] bool adopt(const State& state) override {
    is_slow_ = true;
    return slow_->adopt(state);
  }
  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (is_slow_) return slow_->withdraw(state, job);
    if (std::erase(unseen_, job) == 0) choice_.withdraw(job);
    return true;
  }
  [[nodiscard]] RestartRule restart_rule() const override { return slow_->restart_rule(); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return slow_->warnings(); }

 private:
  using Key = KineticChoice::Key;

  /// Of a class: what had come free when a placement last refused it.
  struct Refusal {
    std::uint64_t with_passed = 0;  // where the GPUs of who is passed over count as free
    std::uint64_t with_later = 0;   // and those of who is kept and comes after `job`
    Key job{};
    std::uint64_t alone = 0;
  };

  /// Of the line of a job that waits since then.
  struct Bend {
    Time at;
    Time idle_since;
    Key key;

    friend bool operator<(const Bend& a, const Bend& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.key.job < b.key.job;
    }
  };

  void forget(const State& state, std::span<const JobId> finished);
  void add_waiting(const State& state, JobId job);
  void straighten_waiting(const State& state);
  void redistribute(const State& state, Actions& actions);
  void hand_over(const State& state);
  [[nodiscard]] KeyLine line(const State& state, JobId job);
  [[nodiscard]] bool is_refused(const State& state, const Key& job) const;
  [[nodiscard]] bool start_newcomer(const State& state, Actions& actions);
  [[nodiscard]] bool may_start_newcomer(const State& state);
  [[nodiscard]] bool start_taken(const State& state, JobId job, const Occupancy& free,
                                 Actions& actions);
  [[nodiscard]] bool place_asked_job(const State& state, const Key& job, const Occupancy& free,
                                     Actions& actions);
  [[nodiscard]] bool displace(const State& state, const Key& job, const Occupancy& free,
                              Actions& actions);
  void lend_later(const State& state, bool claims, Actions& actions);
  void take_back_later(const State& state, bool claims, Actions& actions);
  void suspend_holders(const State& state, Actions& actions);
  void preempt_suspended(const State& state, Actions& actions);
  void requeue_preempted(const State& state);
  void place_asked(const State& state, Actions& actions);
  void keep_claimable(const State& state);
  void start_asked(const State& state, const Occupancy& free, Actions& actions);
  void start_others(const State& state, Actions& actions);
  void start_others_of_many(const State& state, Actions& actions);
  void start_other(const State& state, ClassId id, JobId job, Actions& actions);
  [[nodiscard]] bool may_place_asked(const State& state);
  void preempt(const State& state, JobId job, Actions& actions);
  void end_decision(const State& state);
  void ask_again(const State& state, Actions& actions);

  Owned<PreemptiveScheduler> slow_;
  bool is_slow_ = true;
  Ref<Order> order_;  // of the slow twin
  ChoiceRule rule_;
  bool displaces_;
  bool holds_quota_;
  bool gives_way_ = false;  // who is passed over, until somebody claims what he holds
  Ref<Placement> placement_;
  std::uint64_t seed_ = 0;
  KineticChoice choice_;
  std::vector<JobId> unseen_;  // arrived since the last decision
  Heap<Bend> bends_;
  std::vector<Key> bent_;
  ClaimableGpus claimable_;
  std::vector<Refusal> refused_;
  std::uint64_t num_freed_ = 1;         // times at which anything came free, alone
  std::uint64_t num_freed_passed_ = 1;  // and counting who is passed over as free
  // With many classes: what had come free when the closed ones were refused.
  std::uint64_t closed_at_ = 0;
  PlaceableClasses placeable_;
  Allocation allocation_;
  std::vector<Key> asked_;
  std::vector<Key> passed_;
  std::vector<Key> suspended_;
  std::vector<Key> later_;  // who is kept and may have to give way to one that comes before
  std::vector<JobId> preempted_;
};

}  // namespace gpusched
