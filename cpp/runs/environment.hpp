#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "base/run_control.hpp"
#include "engine/schedule.hpp"
#include "model/allocation.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "runs/run_description.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// The cost of time, by its unit.
enum class Cost : std::uint8_t {
  wait,      ///< the mean wait, seconds
  jct,       ///< the mean job completion time, seconds
  slowdown,  ///< the mean of completion time over service, bounded: see kLeastServiceTicks
};

/// Shorter services count as this long where a slowdown is bounded, and slowdowns as 1 at least.
inline constexpr double kLeastServiceTicks = 10e6;

/// The configuration of an environment besides its jobs and cluster.
struct EnvironmentRules {
  std::string placement;
  Parameters::Values placement_values = {};
  std::uint64_t seed = 0;
  std::size_t num_slots = 128;
  Cost cost = Cost::wait;
};

/// A run at fixed speeds that makes no decisions: it halts whenever a job could start and asks
/// which one to start. It shows the first waiting jobs, as many as there are slots. Between two
/// questions of one instant only the chosen job starts, so always answering with the first job that
/// fits gives the schedule of a list policy.
class Environment {
 public:
  static constexpr std::size_t kJobFeatures = 5;
  static constexpr std::size_t kClusterFeatures = 4;

  /// Jobs and cluster outlive it. `num_feasible`: of the jobs, those that can ever run, over which
  /// means are taken.
  Environment(const JobTable& jobs, const Cluster& cluster, const EnvironmentRules& rules,
              std::uint64_t num_feasible);
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

  /// Whether no question is left.
  [[nodiscard]] bool is_over() const noexcept { return is_over_; }
  /// The job of a slot starts; any other number lets time go on to the next question at a later
  /// instant. Where nothing would ever happen then, and for a job that does not fit, that is not
  /// `allowed`: the first that fits starts, or the answer is taken for waiting. Returns whether the
  /// answer was allowed.
  bool answer(std::size_t slot);
  /// The cost of the time since the last call: its sum over a run is the mean over its jobs.
  double take_cost() noexcept;

  /// One row of kJobFeatures for each slot (seconds that the job has waited, predicted service in
  /// seconds, GPUs, whether it fits now, whether there is a job), then kClusterFeatures: free GPUs,
  /// GPUs, jobs that run, jobs that wait.
  void observe(std::span<float> features) const;
  /// One for each slot, and one for waiting.
  void allow(std::span<std::uint8_t> allowed) const;

  [[nodiscard]] std::size_t num_slots() const noexcept { return rules_.num_slots; }
  [[nodiscard]] Time now() const noexcept { return run_.simulation().state().now(); }
  [[nodiscard]] std::span<const JobId> waiting() const noexcept { return waiting_; }
  /// The run so far, or all of it.
  [[nodiscard]] Schedule schedule() const { return run_.simulation().so_far(); }

 private:
  enum class Fit : std::uint8_t { unknown, fits, refused };

  /// Starts nothing.
  class Nobody final : public Scheduler {
   public:
    void begin(const Setup& setup) override { placement = &setup.placement; }
    void decide(const State&, const Instant&, Actions&) override {}

    Placement* placement = nullptr;
  };

  void go_on();
  bool open_next();
  [[nodiscard]] bool look();
  [[nodiscard]] bool fits(JobId job);
  void start(std::size_t slot);
  [[nodiscard]] bool may_wait() const noexcept { return next_ != kNever; }
  [[nodiscard]] RunDescription description();

  EnvironmentRules rules_;
  RunControl control_;
  Nobody nobody_;
  DescribedRun run_;
  double share_ = 0;  // of one job in a mean
  std::vector<JobId> waiting_;
  std::vector<std::uint8_t> fits_;  // of each slot that has a job
  std::vector<Fit> class_fits_;
  std::vector<ClassId> judged_;  // classes that are not unknown
  Allocation allocation_;
  Time next_ = kNever;  // the next instant, while one is open
  double cost_ = 0;
  bool is_over_ = false;
};

}  // namespace gpusched
