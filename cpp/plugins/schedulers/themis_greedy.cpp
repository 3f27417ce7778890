#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/leases.hpp"
#include "elastic/least_fair.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {
namespace {

/// GPUs are leased for a period. Free GPUs and those of expired leases go to the worst-off jobs:
/// those with the highest ratio of expected run time in the shared cluster to run time alone. The
/// current contention is common to all jobs and left out.
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
    waiting_.clear();
    leases_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) leases_.forget(jobs_.job(job));
    jobs_.open(state, instant);
    // Groups jobs by the growth of their ratios.
    const auto key = [&](const ElasticJobs::Job& job) {
      return state.jobs().predicted(job.id).count();
    };
    arrived_.clear();
    for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
    waiting_.add(arrived_, key);
    find_bidders(state);
    const auto measure = [&](JobId id) { return Unfairness{unfairness(state, id)}; };
    const auto fits = [&](const LeastGpus& need) { return need.is_left(jobs_); };
    while (jobs_.all_left() > 0) {
      const LeastFair::Candidate* const bidder = bidders_.next(state, fits, measure);
      if (bidder == nullptr) break;
      ElasticJobs::Job& job = *bidder->job;
      const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
      if (best == nullptr) continue;
      const bool stays = !job.held.empty() && !ElasticJobs::is_worth(state, job, best->rate);
      if (!stays || !jobs_.keep(job)) jobs_.give(job, *best);
    }
    jobs_.apply(state, actions);
    waiting_.update(jobs_.touched(), key);
    leases_.begin(state, jobs_, [&](const ElasticJobs::Job&) { return period_; });
    if (!waiting_.empty() && !leases_.empty()) actions.wake(leases_.first_end());
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    waiting_.forget(jobs_.job(job));
    jobs_.forget(job);
    return true;
  }

 private:
  /// Jobs with an expired lease, and waiting jobs that fit into the available GPUs.
  void find_bidders(const State& state) {
    bidders_.clear();
    leases_.end(state.now(), jobs_,
                [&](ElasticJobs::Job& job) { bidders_.add(unfairness(state, job.id), job); });
    if (jobs_.all_left() == 0) return;
    bidders_.add_waiting(
        waiting_, [&](const LeastGpus& need) { return need.is_left(jobs_); },
        [&](const LeastFair::Block& block) { return block.note.ratio(state.now()); });
  }

  static double unfairness(const State& state, JobId job) {
    const Time elapsed = state.now() - state.jobs().submit(job);
    const Time alone = std::max(kTick, state.jobs().predicted(job));
    return static_cast<double>((elapsed + state.remaining(job)).count()) /
           static_cast<double>(alone.count());
  }

  Time period_;
  ElasticJobs jobs_;
  WaitingLine waiting_;
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  Leases leases_;
  LeastFair bidders_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, ThemisGreedy, .name = "themis-greedy",
    .summary = "Leases GPUs to the jobs with the worst finish-time fairness.",
    .source = "Mahajan et al., Themis, NSDI 2020.",
    .differs =
        "Free GPUs go to the worst-off jobs (the paper holds an auction with hidden payments); "
        "all jobs see the same contention.",
    .flags = {Flag::preemptive, Flag::clairvoyant},
    .preemption =
        {.least_run = "period_s",
         .reason =
             "GPUs are taken from a job only after its lease, which lasts at least one period "
             "from its start."},
    .parameters = ThemisGreedy::parameters())

}  // namespace gpusched
