#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "model/allocation.hpp"
#include "preemption/kinetic_choice.hpp"
#include "preemption/preemptive_scheduler.hpp"
#include "queueing/placeable_classes.hpp"
#include "seams/occupancy.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The free GPUs and those of preemptible running jobs, as one set, with their holders. Only if
/// jobs request nothing but GPUs; kept between decisions while some job is preemptible.
class ClaimableGpus {
 public:
  void begin(const State& state);

  /// Whether the set is available: otherwise preemptible jobs must be suspended.
  [[nodiscard]] bool is_possible() const noexcept { return is_possible_; }
  [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
  [[nodiscard]] const Occupancy& set() const noexcept { return *set_; }

  /// Starts the set with the free GPUs; preemptible jobs are added one by one.
  void keep();
  void drop() noexcept { is_kept_ = false; }

  /// A running job gives way from now on, or no longer.
  void add(const Slot& run, std::uint32_t slot);
  void remove(const Slot& run) { set_->acquire(run.gpus, run.pieces); }
  /// A job that does not give way has started, or has ended.
  void acquire(const Allocation& taken) { set_->acquire(taken.gpus, taken.pieces); }
  void release(const Slot& run) { set_->release(run.gpus, run.pieces); }
  /// A job that gives way has started.
  void note(const Slot& run, std::uint32_t slot);

  /// The slot of the preemptible job on the first GPU of the pieces that is not free; false if all
  /// are.
  [[nodiscard]] bool find_holder(const std::vector<Piece>& pieces, std::uint32_t& slot) const;

 private:
  [[nodiscard]] std::size_t place_of(ServerId server) const noexcept {
    return first_gpu_[static_cast<std::size_t>(server)];
  }

  Ref<const State> state_;
  bool is_possible_ = false;
  bool is_kept_ = false;
  std::optional<Occupancy> set_;  // none before it is needed
  std::vector<std::size_t> first_gpu_;
  std::vector<std::uint32_t> holder_;  // by GPU; valid if a preemptible job holds it
};

/// Incremental preemptive list scheduling: visits only jobs that change sides in the choice, and
/// classes for which GPUs have been released since they were refused. Its schedule equals that of
/// PreemptiveScheduler, its slow reference, which takes over if keys are not linear.
class KineticScheduler : public Scheduler {
 public:
  /// `slow` was made with the parameters.
  KineticScheduler(Owned<PreemptiveScheduler> slow, ChoiceRule rule, const Parameters& parameters);

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  /// The slow reference continues.
  [[nodiscard]] bool adopt(const State& state) override {
    is_slow_ = true;
    return slow_->adopt(state);
  }
  [[nodiscard]] bool takes_outages() const override { return slow_->takes_outages(); }
  [[nodiscard]] bool takes_windows() const override { return slow_->takes_windows(); }
  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (is_slow_) return slow_->withdraw(state, job);
    if (std::erase(unseen_, job) == 0) choice_.withdraw(job);
    return true;
  }
  [[nodiscard]] RestartRule restart_rule() const override { return slow_->restart_rule(); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return slow_->warnings(); }

 private:
  using Key = KineticChoice::Key;

  /// Of a class: the counts of released GPUs at its last refusal.
  struct Refusal {
    std::uint64_t with_passed = 0;  // with the GPUs of unselected jobs counted as free
    std::uint64_t with_later = 0;  // and those of kept jobs after `job`
    Key job{};
    std::uint64_t alone = 0;
  };

  /// Of the line of a waiting job.
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
  Ref<Order> order_;  // of the slow reference
  ChoiceRule rule_;
  bool displaces_;
  bool holds_quota_;
  bool gives_way_ = false;  // unselected jobs run until their GPUs are claimed
  Ref<Placement> placement_;
  std::uint64_t seed_ = 0;
  KineticChoice choice_;
  std::vector<JobId> unseen_;  // arrived since the last decision
  Heap<Bend> bends_;
  std::vector<Key> bent_;
  ClaimableGpus claimable_;
  std::vector<Refusal> refused_;
  Heap<ClassHead> others_;  // the first of each class that may start where it is in nobody's way
  std::uint64_t num_freed_ = 1;         // times at which anything came free, alone
  std::uint64_t num_freed_passed_ = 1;  // and with unselected jobs counted as free
  // With many classes: what had come free when the closed ones were refused.
  std::uint64_t closed_at_ = 0;
  PlaceableClasses placeable_;
  Allocation allocation_;
  std::vector<Key> asked_;
  std::vector<Key> passed_;
  std::vector<Key> suspended_;
  std::vector<Key> later_;  // kept jobs that an earlier one may displace
  std::vector<JobId> preempted_;
};

}  // namespace gpusched
