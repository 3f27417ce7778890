#include <algorithm>
#include <limits>
#include <vector>

#include "base/clone.hpp"
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
    std::erase_if(line_, [&](const Entry& entry) {
      return std::binary_search(instant.finished.begin(), instant.finished.end(), entry.id);
    });
    jobs_.open(state, instant);
    const auto known = static_cast<std::ptrdiff_t>(line_.size());
    for (const JobId id : instant.arrived) {
      line_.push_back({state.jobs().deadline(id), id, 0, 0, &jobs_.job(id)});
    }
    std::sort(line_.begin() + known, line_.end());
    std::inplace_merge(line_.begin(), line_.begin() + known, line_.end());
    jobs_.take_all_back();
    for (const Entry& entry : line_) {
      // Who holds the best that it could have keeps it, if it is left: nothing else is looked up.
      if (entry.gpus > 0 && entry.gpus <= jobs_.left(entry.type)) {
        jobs_.retain(entry.type, entry.gpus);
        continue;
      }
      ElasticJobs::Job& job = *entry.job;
      if (!job.held.empty()) jobs_.drop(job);
      if (jobs_.all_left() == 0) continue;
      const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
      if (best == nullptr) continue;
      // Of two equally fast ones the job keeps what it holds.
      if (!job.held.empty() && job.held_rate >= best->rate && jobs_.keep(job)) continue;
      jobs_.give(job, *best);
    }
    jobs_.apply(state, actions);
    for (const ElasticJobs::Job* job : jobs_.touched()) note(state, *job);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    std::erase_if(line_, [&](const Entry& entry) { return entry.id == job; });
    jobs_.forget(job);
    return true;
  }

 private:
  struct Entry {
    Time deadline;
    JobId id;
    int type;  ///< what it holds, if that is the best that it could have
    int gpus;  ///< 0 if it is not
    Ref<ElasticJobs::Job> job;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
    }
  };

  /// Writes down what the job holds now.
  void note(const State& state, const ElasticJobs::Job& job) {
    const Entry known{state.jobs().deadline(job.id), job.id, 0, 0, nullptr};
    Entry& entry = *std::lower_bound(line_.begin(), line_.end(), known);
    entry.gpus = 0;
    if (job.held.size() != 1) return;
    const bool is_best =
        std::all_of(job.configurations.begin(), job.configurations.end(),
                    [&](const Configuration& other) { return other.rate <= job.held_rate; });
    if (!is_best || job.is_mixed()) return;
    entry.type = job.held.front().type;
    entry.gpus = job.held.front().gpus;
  }

  ElasticJobs jobs_;
  std::vector<Entry> line_;  // by (deadline, job)
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, EdfFastest, .name = "edf-fastest",
    .summary = "Earliest deadline first, each job on the fastest GPUs that are left.",
    .source = "Ours: edf (Liu, Layland 1973) with a choice of GPU types.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines},
    .preemption = {
        .at_arrivals = true,
        .at_finishes = true,
        .reason =
            "It decides when something arrives or finishes, and else only while nothing runs."})

}  // namespace gpusched
