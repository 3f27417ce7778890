#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/flags.hpp"
#include "base/parameters.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/hysteresis.hpp"
#include "elastic/running_by_key.hpp"
#include "elastic/waiting_line.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// Starts each job at its minimum width and lets it grow by single GPUs. All GPUs are reallocated
/// at multiples of a period, or at every event if it is 0; in between, running jobs stay and
/// waiting jobs get their minimum widths, the one with the least remaining time first.
class GpuByGpu : public Scheduler {
 public:
  /// Seconds between reallocations.
  static ParameterInfo period(double fallback);
  static PreemptionBound preemption();

  void begin(const Setup& setup) override;
  void decide(const State& state, const Instant& instant, Actions& actions) override;
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;

 protected:
  explicit GpuByGpu(Time period) : period_(period) {}

  /// Gives out all GPUs but those of jobs that pay for a restart.
  virtual void give_out(const State& state) = 0;
  /// The same without a look at those that keep their GPUs; false, and nothing is done, where it
  /// cannot.
  [[nodiscard]] virtual bool give_out_to_few(const State& /*state*/) { return false; }

  /// Those that wait, and at a review those that run, by what is left of them.
  [[nodiscard]] WaitingLine::Walk line() const { return {jobs_, waiting_, line_}; }
  /// Its least width on the type where it is fastest at that; on the type that it holds if a change
  /// does not pay. Null if none fits.
  [[nodiscard]] const Configuration* least_width(const State& state,
                                                 const ElasticJobs::Job& job) const;
  void give_least(ElasticJobs::Job& job, const Configuration& least);
  /// To all in the line.
  void give_least(const State& state);
  /// Whether it is of one type and may have been given its least width in this decision.
  [[nodiscard]] static bool may_grow(const ElasticJobs::Job& job) noexcept {
    return job.wanted.size() == 1 && !job.is_mixed();
  }
  /// Maximum GPUs of the type of its target.
  [[nodiscard]] int most_gpus(const State& state, const ElasticJobs::Job& job) const noexcept;
  /// One GPU more; with a rate of 0 if the job may not have it.
  [[nodiscard]] static Configuration next_width(const State& state, ElasticJobs::Job& job,
                                                int most_gpus) {
    const Part& now = job.wanted.front();
    Configuration next{now.type, now.gpus + 1, 0.0};
    if (now.gpus < most_gpus) next.rate = ElasticJobs::rate(state, job, now.type, next.gpus);
    return next;
  }
  /// Jobs that could grow but would not end earlier keep their GPUs.
  void spare_restarts(const State& state);

  /// What it costs to give a job another width, in steps of a simple loop.
  static constexpr std::size_t kStepsOfWidth = 100;

  ElasticJobs jobs_;
  std::optional<ControlCheck> stop_;

 private:
  [[nodiscard]] bool can_keep_order(const State& state);
  void give_widths(const State& state);
  void leave_line_touched();
  void line_up_touched(const State& state);
  void line_up(const State& state, ElasticJobs::Job& job);
  void leave_line(ElasticJobs::Job& job);
  static void limit_to_held(const ElasticJobs::Job& job, Hysteresis& limits);

  Time period_;
  WaitingLine waiting_;
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  std::vector<WaitingLine::Entry> line_;  // running jobs with reclaimable GPUs
  // If every job has one width and one speed, so that running jobs stay in one order:
  bool has_one_width_ = false;
  RunningByKey holders_;                          // by when they end, but for
  std::vector<Ref<ElasticJobs::Job>> restarting_;  // those that pay for a restart, or did lately
};

}  // namespace gpusched
