#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "elastic/reallocation.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// A width on one GPU type, and the service per time that a job gets from it.
struct Configuration {
  int type;
  int gpus;
  double rate;

  friend bool operator==(const Configuration&, const Configuration&) = default;
};

/// The type of a job that no single type can hold: its own width on GPUs of several types.
inline constexpr int kSeveralTypes = -1;

/// The live jobs of a policy that gives out numbers of GPUs per type: what each can run on, what
/// it holds, and what is left to give in the present decision. A pool is one type.
class ElasticJobs {
 public:
  struct Job : Noted<Job> {
    JobId id;
    /// By type, then by width; a wider one is faster, unless slower ones were asked for. Never
    /// empty.
    std::vector<Configuration> configurations;
    /// Where the only configuration is kSeveralTypes: the types it may use, the fastest first.
    std::vector<int> mixed_types;
    /// Progress rate by type, then by GPUs, as far as requested.
    std::vector<std::vector<double>> rates;
    std::vector<Part> held;    ///< empty while it waits
    std::vector<Part> wanted;  ///< from this decision on; empty: nothing
    double held_rate = 0;
    double wanted_rate = 0;
    std::int64_t line_key = 0;  ///< its key in a WaitingLine,
    std::uint32_t line = 0;     ///< and in which of its lines
    std::size_t holder = 0;     ///< its index among the jobs with GPUs
    bool is_waiting = false;    ///< whether it is in a WaitingLine
    bool is_touched = false;    ///< whether its target may differ from its allocation

    [[nodiscard]] bool is_mixed() const noexcept {
      return configurations.front().type == kSeveralTypes;
    }
    /// The type it holds GPUs of, and how many; -1 and 0 where it waits or holds several types.
    [[nodiscard]] int held_type() const noexcept {
      return held.size() == 1 ? held.front().type : -1;
    }
    [[nodiscard]] int held_gpus() const noexcept {
      return held.size() == 1 ? held.front().gpus : 0;
    }
  };

  /// `own_width_only`: jobs are never given another width than their own. `keeps_slower`: wider
  /// configurations that are no faster are kept as well.
  void begin(const Setup& setup, bool own_width_only = false, bool keeps_slower = false);

  /// Removes finished and adds arrived jobs; each job keeps its allocation, and the free GPUs can
  /// be given out. Later calls cost time only for jobs with a changed target.
  void open(const State& state, const Instant& instant);
  /// A job that holds nothing is no more.
  void forget(JobId id);
  /// Clears all targets; all GPUs can be given out.
  void withdraw_all();

  /// By JobId. Addresses hold as long as the job lives.
  [[nodiscard]] std::map<JobId, Job>& all() noexcept { return jobs_; }
  [[nodiscard]] Job& job(JobId id) { return jobs_.find(id)->second; }
  /// Those that hold GPUs, in no order.
  [[nodiscard]] std::span<const Ref<Job>> holders() const noexcept { return holders_; }
  /// Jobs with a possibly changed allocation since the last `apply`, by JobId.
  [[nodiscard]] std::span<const Ref<Job>> touched() const noexcept { return touched_; }
  /// Jobs that were moved in the last `apply` to make room, with the same number of GPUs.
  [[nodiscard]] std::span<const JobId> moved() const noexcept { return reallocation_.moved(); }
  [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }

  [[nodiscard]] int num_types() const noexcept { return static_cast<int>(total_.size()); }
  [[nodiscard]] std::int64_t total(int type) const noexcept { return total_[index(type)]; }
  [[nodiscard]] std::int64_t left(int type) const noexcept { return left_[index(type)]; }
  [[nodiscard]] std::int64_t all_left() const noexcept { return all_left_; }

  /// As State::rate.
  [[nodiscard]] static double rate(const State& state, Job& job, int type, int gpus) {
    if (index(type) < job.rates.size()) {
      const std::vector<double>& rates = job.rates[index(type)];
      if (static_cast<std::size_t>(gpus) < rates.size())
        return rates[static_cast<std::size_t>(gpus)];
    }
    return asked_rate(state, job, type, gpus);
  }
  [[nodiscard]] bool fits(const Job& job, const Configuration& configuration) const noexcept;
  /// Replaces the job's target by the configuration; false, without a change, if the GPUs left and
  /// those of the old target do not suffice.
  bool give(Job& job, const Configuration& configuration);
  /// Widens a target on one type to this many GPUs, for which `retain` was called.
  static void widen(Job& job, int gpus, double rate) noexcept {
    job.wanted.front().gpus = gpus;
    job.wanted_rate = rate;
  }
  /// Sets the target to the job's allocation; as `give`.
  bool keep(Job& job);
  /// Clears the target.
  void withdraw(Job& job);
  /// Makes all GPUs available again, while targets stay as allocated: each holder must then be
  /// retained or dropped.
  void take_all_back();
  /// Takes this many GPUs of a type for a target that is kept or set later.
  void retain(int type, std::int64_t gpus) noexcept {
    left_[index(type)] -= gpus;
    all_left_ -= gpus;
  }
  /// Clears the target; its GPUs were made available before.
  void drop(Job& job);
  /// Treats a touched job with a target equal to its allocation as untouched.
  void leave_unchanged();

  /// The fastest configuration that fits what is left and is at most so wide; ties to fewer GPUs,
  /// then the lower type. Null if none fits.
  [[nodiscard]] const Configuration* fastest(const Job& job, int max_gpus) const noexcept;

  /// Whether to change to a rate pays for the restart: the job ends earlier.
  [[nodiscard]] static bool is_worth(const State& state, const Job& job, double rate);
  /// Whether the job is paying for a restart and has made no progress since.
  [[nodiscard]] static bool is_restarting(const State& state, const Job& job);

  /// Makes the allocations match the targets; jobs that did not fit get their allocation as target.
  /// If nothing runs afterwards although jobs wait, starts the first that the run's placement
  /// accepts at its own width: the targets may never fit.
  void apply(const State& state, Actions& actions);

  /// Which jobs may be moved to make room for others.
  void set_may_move(std::function<bool(JobId)> may_move) {
    reallocation_.may_move = std::move(may_move);
  }
  /// A placement to try if the run's placement refuses a target; may be null.
  void set_last_resort(Placement* placement) noexcept { reallocation_.last_resort = placement; }

 private:
  static std::size_t index(int type) noexcept { return static_cast<std::size_t>(type); }

  [[nodiscard]] static double asked_rate(const State& state, Job& job, int type, int gpus);
  void describe(const State& state, Job& job) const;
  void describe_mixed(const State& state, Job& job) const;
  void take(std::span<const Part> parts, int sign) noexcept;
  void touch(Job& job);
  void hold(Job& job, std::span<const Part> parts, double rate);
  static void settle(Job& job);
  void start_any(const State& state, Actions& actions);

  Reallocation reallocation_;
  Ref<Placement> placement_;
  bool own_width_only_ = false;
  bool keeps_slower_ = false;
  std::map<JobId, Job> jobs_;
  std::vector<Ref<Job>> holders_;
  std::vector<Ref<Job>> touched_;
  std::vector<std::int64_t> total_;
  std::vector<std::int64_t> unheld_;
  std::vector<std::int64_t> left_;
  std::int64_t all_unheld_ = 0;
  std::int64_t all_left_ = 0;
  Allocation allocation_;
  std::vector<Part> started_;
};

}  // namespace gpusched
