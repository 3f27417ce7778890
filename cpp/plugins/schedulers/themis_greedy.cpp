#include <algorithm>
#include <limits>
#include <map>
#include <vector>

#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"

namespace gpusched {
namespace {

/// GPUs are leased for a period. Free GPUs, and those whose lease has run out, go to the jobs that
/// suffer most: to the greatest ratio of the run time to be expected in the shared cluster over
/// that of the job alone. The contention of the time is common to all jobs and left out.
class ThemisGreedy final : public Scheduler {
 public:
  explicit ThemisGreedy(const Parameters& parameters) : period_(parameters.seconds("period_s")) {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "period_s",
             .fallback = 1200.0,
             .help = "seconds of a lease",
             .minimum = 1,
             .maximum = 1e9}};
  }

  void begin(const Setup& setup) override {
    jobs_.begin(setup, true);
    lease_end_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) lease_end_.erase(job);
    jobs_.open(state, instant);
    bidders_.clear();
    for (auto& [id, job] : jobs_.all()) {
      const auto lease = lease_end_.find(id);
      if (lease != lease_end_.end() && lease->second > state.now() && jobs_.keep(job)) continue;
      bidders_.push_back({unfairness(state, id), &job});
    }
    std::stable_sort(bidders_.begin(), bidders_.end(),
                     [](const Bidder& a, const Bidder& b) { return a.rho > b.rho; });
    for (const Bidder& bidder : bidders_) {
      if (jobs_.all_left() == 0) break;
      ElasticJobs::Job& job = *bidder.job;
      const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
      if (best == nullptr) continue;
      const bool stays = !job.held.empty() && !ElasticJobs::is_worth(state, job, best->rate);
      if (!stays || !jobs_.keep(job)) jobs_.give(job, *best);
    }
    jobs_.apply(state, actions);
    lease(state, actions);
  }

 private:
  struct Bidder {
    double rho;
    ElasticJobs::Job* job;
  };

  static double unfairness(const State& state, JobId job) {
    const Time elapsed = state.now() - state.jobs().submit(job);
    const Time alone = std::max(kTick, state.jobs().predicted(job));
    return static_cast<double>((elapsed + state.remaining(job)).count()) /
           static_cast<double>(alone.count());
  }

  /// A lease that a restart began counts from when the restart is paid, so that it has a use.
  void lease(const State& state, Actions& actions) {
    Time next = kNever;
    bool waits = false;
    for (const auto& [id, job] : jobs_.all()) {
      if (!state.is_running(id)) {
        lease_end_.erase(id);
        waits = true;
        continue;
      }
      Time& end = lease_end_[id];
      const Slot& run = state.slot(id);
      if (end <= state.now()) end = std::max(state.now(), run.start + run.cost) + period_;
      next = std::min(next, end);
    }
    if (waits && next != kNever) actions.wake(next);
  }

  Time period_;
  ElasticJobs jobs_;
  std::map<JobId, Time> lease_end_;  // of the running jobs
  std::vector<Bidder> bidders_;
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, ThemisGreedy, .name = "themis-greedy",
                  .summary = "GPUs are leased to the jobs with the worst finish-time fairness.",
                  .source = "Mahajan et al., Themis, NSDI 2020; greedy instead of the auction.",
                  .flags = {Flag::preemptive, Flag::clairvoyant},
                  .parameters = ThemisGreedy::parameters())

}  // namespace gpusched
