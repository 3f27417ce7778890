#include <limits>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/hysteresis.hpp"
#include "elastic/running_by_key.hpp"
#include "elastic/waiting_line.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// In the order of deadlines each job takes the fastest configuration that is left, as if it were
/// alone. No job is turned down, none is spared.
class EdfFastest final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    jobs_.begin(setup);
    holders_.begin(takes_slow_twins);
    waiting_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    const auto key = [&](const ElasticJobs::Job& job) {
      return state.jobs().deadline(job.id).count();
    };
    for (const JobId id : instant.finished) {
      ElasticJobs::Job& job = jobs_.job(id);
      if (!job.held.empty()) holders_.erase({key(job), id, &job});
    }
    jobs_.open(state, instant);
    arrived_.clear();
    for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
    waiting_.add(arrived_, key);
    jobs_.take_all_back();
    holders_.give_out(jobs_, waiting_, Time{0}, limit_to_held,
                      [this](ElasticJobs::Job& job) { give_best(job); });
    jobs_.apply(state, actions);
    holders_.update(jobs_, jobs_.touched(), key, limit_to_held);
    waiting_.update(jobs_.touched(), key);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    waiting_.forget(jobs_.job(job));
    jobs_.forget(job);
    return true;
  }

 private:
  /// The job keeps its GPUs while they are left for it and nothing faster is.
  static void limit_to_held(const ElasticJobs::Job& job, Hysteresis& limits) {
    if (job.is_mixed() || job.held.size() != 1) return limits.forbid();
    bool is_known = false;
    bool is_best = true;
    for (const Configuration& known : job.configurations) {
      is_known |= known.type == job.held_type() && known.gpus == job.held_gpus();
      if (known.rate <= job.held_rate) continue;
      is_best = false;
      limits.bar(known.type, known.gpus);
    }
    if (is_known || is_best) {
      limits.hold(job.held.front());
    } else {
      limits.forbid();
    }
  }

  void give_best(ElasticJobs::Job& job) {
    const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
    if (best == nullptr) return;
    // Between two equally fast ones the job keeps its own.
    if (!job.held.empty() && job.held_rate >= best->rate && jobs_.keep(job)) return;
    jobs_.give(job, *best);
  }

  ElasticJobs jobs_;
  RunningByKey holders_;  // by (deadline, job)
  WaitingLine waiting_;  // the same
  std::vector<Ref<ElasticJobs::Job>> arrived_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, EdfFastest, .name = "edf-fastest",
    .summary = "Earliest deadline first, each job on the fastest GPUs left.",
    .source = "Ours: edf (Liu, Layland 1973) with a choice of GPU types.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::deadlines},
    .preemption = {
        .at_arrivals = true,
        .at_finishes = true,
        .reason = "It decides when a job arrives or finishes, otherwise only while no job runs."})

}  // namespace gpusched
