#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "engine/event.hpp"
#include "engine/run_state.hpp"
#include "model/job_table.hpp"

namespace gpusched {

/// Jobs that have arrived and are not in the queue: before their eligible time, until others have
/// started or ended, or because enough tasks of their array are queued or running. It also knows
/// when users cancel jobs.
class Eligibility {
 public:
  explicit Eligibility(const RunState& state) : state_(state) {}

  /// Call before the run. `kills_impossible`: a job whose dependencies can never be met is to be
  /// cancelled.
  void begin(bool kills_impossible);
  /// Whether any job may be held, or is cancelled by its user. If not, nothing else is called.
  [[nodiscard]] bool is_used() const noexcept { return !eligible_us_.empty(); }

  /// The next instant at which a held job becomes eligible, or a job is cancelled that is not over;
  /// kNever if there is none.
  [[nodiscard]] Time next();
  /// The jobs that their users cancel now and that are not over, in order.
  [[nodiscard]] std::vector<JobId> take_cancelled();
  /// The job has arrived and can run. Whether it joins the queue at once.
  [[nodiscard]] bool arrive(JobId job);
  /// If not, it is held from now on.
  void hold(JobId job);
  /// Instead of `arrive`, where a run from a snapshot begins, or before it if the job does not run:
  /// it has started at this time or earlier.
  void find_started(JobId job, Time start, bool runs);
  /// Jobs have ended at this instant, before its decision.
  void see_ends(std::span<const Event> events);
  /// The held jobs that are to be cancelled because of what was seen so far.
  [[nodiscard]] std::vector<JobId> take_impossible() { return std::exchange(impossible_, {}); }
  /// The held jobs that join the queue now, in order.
  [[nodiscard]] std::vector<JobId> take_released();
  /// Jobs have started in the decision of this instant.
  void see_starts(std::span<const Event> events);

  [[nodiscard]] std::vector<std::int64_t> take_eligible_us() { return std::move(eligible_us_); }
  [[nodiscard]] bool is_impossible(JobId job) const { return conditions_[job].is_impossible; }
  /// Whether the job has joined the queue, perhaps to be held again from outside.
  [[nodiscard]] bool has_queued(JobId job) const { return !is_used() || eligible_us_[job] >= 0; }

 private:
  static constexpr std::int64_t kNotYet = -1;
  static constexpr std::int64_t kImpossible = -2;

  /// The dependencies of a job.
  struct Conditions {
    Time met_at{0};             ///< the latest that is met; if one suffices, the earliest
    std::int32_t num_open = 0;  ///< not met yet; if one suffices, not impossible yet
    bool is_any = false;        ///< one suffices
    bool is_met = true;
    bool is_impossible = false;
    bool is_ready = false;  ///< nothing but its array may still hold the job
  };
  /// A job that waits for another one.
  struct Dependent {
    JobId job;
    Dependency kind;
    Time delay;
  };
  struct Due {
    Time at;
    bool is_release;  // or a cancellation
    JobId job;

    [[nodiscard]] bool operator<(const Due& other) const noexcept;
  };
  struct Array {
    std::int32_t room;     ///< so many more tasks may join the queue
    std::set<JobId> line;  ///< tasks that nothing else holds
  };

  void read_dependencies();
  [[nodiscard]] std::span<const Dependent> dependents(JobId job) const noexcept;
  [[nodiscard]] std::int32_t limiting(JobId job) const noexcept;
  [[nodiscard]] bool is_stale(const Due& due) const noexcept;
  /// When nothing but its array holds the job any more, if its dependencies are met.
  [[nodiscard]] Time ready_at(JobId job) const noexcept {
    return std::max(state_->jobs().eligible(job), conditions_[job].met_at);
  }
  void look(JobId job);
  void make_ready(JobId job);
  void meet(JobId job, Time at);
  void rule_out(JobId job);
  void give_up(JobId job);
  void see_end(const Dependent& other, JobId job, bool is_ok);

  Ref<const RunState> state_;
  bool kills_impossible_ = false;
  std::vector<Conditions> conditions_;
  std::vector<Dependent> dependents_;  // by the job that they wait for
  std::vector<std::size_t> first_dependent_;
  std::vector<Array> arrays_;
  std::vector<std::int32_t> touched_;  // arrays that may release tasks
  Heap<Due> due_;
  std::vector<JobId> ready_;
  std::vector<JobId> impossible_;
  std::vector<std::int64_t> eligible_us_;  // when each job joined the queue, kNotYet or kImpossible
};

}  // namespace gpusched
