#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/progressive_filling.hpp"
#include "elastic/reserved_timeline.hpp"
#include "elastic/waiting_line.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// How a policy makes promises.
struct PromiseRules {
  Time slot;
  bool own_width_only;  ///< jobs are not elastic
  bool is_pinned;       ///< a job uses its best GPU type alone
  bool by_slack;        ///< plans are made in the order of slack instead of deadlines
  bool is_firm;         ///< best effort keeps its GPUs until the slot ends
  /// Jobs of a slot are judged together at its end, all or none; at once if no job has a promise.
  bool by_batch = false;
};

/// Admits a job with a deadline iff GPUs can be reserved, slot by slot, so that it and every
/// admitted job end in time, which holds while jobs run as fast as predicted. A job stays on the
/// type of its admission. GPUs that no promise needs now go where they save the most GPU time
/// later. All other jobs are best effort, by JobId: they run on what is left, at most at their own
/// width. If the run's placement refuses a target while there are promises, GPUs on any servers are
/// taken: fragments must not break promises.
/// any servers are taken while there are promises: fragments must not break them.
class PromisingScheduler : public Scheduler {
 public:
  explicit PromisingScheduler(PromiseRules rules);

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;
  [[nodiscard]] std::vector<Decision> decisions() const override { return decisions_; }
  [[nodiscard]] std::vector<std::string> warnings() const override;

 private:
  struct Promise {
    Ref<ElasticJobs::Job> job;
    int type;
    std::vector<WidthRate> widths;
    SlotPlan plan;
    double key;  // in the order of plans
    Claim claim;
  };
  /// One more step for a job with a promise.
  struct Step {
    double saved;  // GPU time that it will not need later, per GPU added
    Promise* promise;
    WidthRate to;

    /// For a heap with the greatest saving on top.
    friend bool operator<(const Step& a, const Step& b) noexcept {
      return a.saved != b.saved ? a.saved > b.saved : a.promise->job->id < b.promise->job->id;
    }
  };

  void pin(const State& state, ElasticJobs::Job& job);
  void unpin(JobId job);
  void consider(const State& state, ElasticJobs::Job& job);
  void consider_batch(const State& state);
  /// Alone. Sets `is_cut_off` where it is not known, as the plan would be too long.
  [[nodiscard]] bool could_meet(const State& state, Promise& candidate, bool& is_cut_off);
  [[nodiscard]] bool try_join(const State& state, const Promise& candidate, std::int64_t limit);
  void close_lines();
  void set_claim(const State& state, Promise& promise) const;
  void find_promises(int type);
  [[nodiscard]] std::int64_t find_blocked(const State& state, int type) const;
  void renew(const State& state);
  void refill(const State& state, int type);

  void give_promised(const State& state);
  void find_holders();
  void keep_leases();
  void give_spare();
  void offer(Promise& promise);
  void give_best_effort(const State& state);
  void give_free(const State& state, ElasticJobs::Job& job);
  [[nodiscard]] bool may_move(JobId job);

  [[nodiscard]] ProgressiveFilling& ledger(int type) noexcept {
    return ledgers_[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] ReservedTimeline& line(int type) noexcept {
    return lines_[static_cast<std::size_t>(type)];
  }

  PromiseRules rules_;
  Owned<Placement> anywhere_;
  ElasticJobs jobs_;
  Ref<const State> state_;
  Ref<const RunControl> control_;
  std::vector<ProgressiveFilling> ledgers_;  // by type
  std::vector<ReservedTimeline> lines_;  // by type, within an instant
  std::map<JobId, Promise> promises_;
  std::vector<Promise*> line_;  // of one type, in the order of plans
  std::map<JobId, int> pinned_type_;
  std::vector<std::int64_t> pinned_gpus_;  // by type
  std::set<JobId> batch_;  // came with deadlines and were not judged yet
  WaitingLine waiting_;  // by JobId
  std::vector<WaitingLine::Entry> holders_;  // without promises, likewise
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  std::vector<Decision> decisions_;
  std::uint64_t num_broken_ = 0;
  Heap<Step> steps_;
};

}  // namespace gpusched
