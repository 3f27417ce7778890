#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"

namespace gpusched {
namespace {

/// In the order of deadlines each job takes the fastest configuration that is left, as if it were
/// alone. No job is turned down, none is spared.
class EdfFastest final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    jobs_.begin(setup);
    line_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) line_.erase(find(state, job));
    jobs_.open(state, instant);
    for (const JobId job : instant.arrived) line_.insert(find(state, job), entry(state, job));
    for (const auto& [deadline, id] : line_) {
      if (jobs_.all_left() == 0) break;
      ElasticJobs::Job& job = jobs_.all().find(id)->second;
      const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
      if (best == nullptr) continue;
      // Of two equally fast ones the job keeps what it holds.
      if (!job.held.empty() && job.held_rate >= best->rate && jobs_.keep(job)) continue;
      jobs_.give(job, *best);
    }
    jobs_.apply(state, actions);
  }

 private:
  using Entry = std::pair<Time, JobId>;

  static Entry entry(const State& state, JobId job) { return {state.jobs().deadline(job), job}; }
  [[nodiscard]] std::vector<Entry>::iterator find(const State& state, JobId job) {
    return std::lower_bound(line_.begin(), line_.end(), entry(state, job));
  }

  ElasticJobs jobs_;
  std::vector<Entry> line_;  // by (deadline, job)
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, EdfFastest, .name = "edf-fastest",
                  .summary = "Earliest deadline first, each job on the fastest GPUs that are left.",
                  .source = "Ours: edf (Liu, Layland 1973) with a choice of GPU types.",
                  .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines})

}  // namespace gpusched
