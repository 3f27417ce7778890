#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {
namespace {

/// Each job gets its least width, the job with the least left first; then GPU after GPU goes to
/// the job whose time left it shortens most. Between two such reallocations nobody is disturbed.
class Optimus final : public Scheduler {
 public:
  explicit Optimus(const Parameters& parameters)
      : period_(parameters.seconds("period_s")), doubles_(parameters.text("step") == "double") {}

  static std::vector<ParameterInfo> parameters() {
    return {{.name = "period_s",
             .fallback = 600.0,
             .help = "seconds between reallocations; between them only idle GPUs are given out (0: "
                     "reallocate at every event)",
             .minimum = 0,
             .maximum = 1e9,
             .least_positive = 1},
            {.name = "step",
             .fallback = std::string("one"),
             .help = "how a job grows: GPU by GPU, or to the next power of two; gains are compared "
                     "per GPU",
             .choices = {"one", "double"}}};
  }

  void begin(const Setup& setup) override {
    jobs_.begin(setup);
    waiting_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    jobs_.open(state, instant);
    if (jobs_.empty()) return;
    const auto key = [&](const ElasticJobs::Job& job) { return state.remaining(job.id).count(); };
    arrived_.clear();
    for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
    waiting_.add(arrived_, key);
    const bool is_due = period_ == Time{0} || state.now().count() % period_.count() == 0;
    line_.clear();
    if (is_due) take_back(state, jobs_, line_, key);
    give_least(state);
    if (is_due) {
      grow(state);
      spare_restarts(state);
    }
    jobs_.apply(state, actions);
    waiting_.update(jobs_, key);
    if (period_ > Time{0}) actions.wake(next_multiple(state.now(), period_));
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    waiting_.forget(jobs_.job(job));
    jobs_.forget(job);
    return true;
  }

 private:
  /// What one step would bring a job.
  struct Step {
    double gain;  // seconds of its time left, per GPU added
    Ref<ElasticJobs::Job> job;
    Configuration to;

    /// For a heap with the greatest gain on top.
    friend bool operator<(const Step& a, const Step& b) noexcept {
      return a.gain != b.gain ? a.gain > b.gain : a.job->id < b.job->id;
    }
  };

  /// The candidate with the least left first.
  void give_least(const State& state) {
    const std::span<const WaitingLine::Entry> waiting = waiting_.all();
    auto next = line_.begin();
    for (std::size_t at = 0; jobs_.all_left() > 0;) {
      const bool is_next = next != line_.end() && (at == waiting.size() || *next < waiting[at]);
      if (!is_next && at == waiting.size()) break;
      const WaitingLine::Entry& entry = is_next ? *next++ : waiting[at++];
      if (entry.least > jobs_.all_left()) continue;
      ElasticJobs::Job& job = *entry.job;
      const Configuration* least = least_width(state, job);
      if (least == nullptr) continue;
      const bool is_held = least->type == kSeveralTypes && !job.held.empty();
      if (!is_held || !jobs_.keep(job)) jobs_.give(job, *least);
    }
  }

  /// The job's least width on the type where it is fastest at that; on the type that it holds if a
  /// change does not pay.
  [[nodiscard]] const Configuration* least_width(const State& state,
                                                 const ElasticJobs::Job& job) const {
    const Configuration* best = nullptr;
    const Configuration* held = nullptr;
    int previous = kSeveralTypes - 1;
    for (const Configuration& candidate : job.configurations) {
      if (candidate.type == previous) continue;  // wider
      previous = candidate.type;
      if (!jobs_.fits(job, candidate)) continue;
      if (candidate.type == job.held_type()) held = &candidate;
      if (best == nullptr || candidate.rate > best->rate) best = &candidate;
    }
    if (held == nullptr || best == held) return best;
    // Both grow from there alike.
    const double rate = job.held_rate * (best->rate / held->rate);
    return ElasticJobs::is_worth(state, job, rate) ? best : held;
  }

  void grow(const State& state) {
    steps_.clear();
    // Who pays for a restart was not touched.
    for (ElasticJobs::Job* job : jobs_.touched()) {
      if (job->wanted.size() == 1 && !job->is_mixed()) offer(state, *job);
    }
    while (!steps_.empty() && jobs_.all_left() > 0) {
      const Step step = steps_.top();
      steps_.pop();
      if (jobs_.give(*step.job, step.to)) offer(state, *step.job);
    }
  }

  void offer(const State& state, ElasticJobs::Job& job) {
    const Part& now = job.wanted.front();
    const Configuration next =
        doubles_ ? next_configuration(job, now) : next_width(state, job, now);
    if (!(next.rate > job.wanted_rate)) return;
    const auto work = static_cast<double>(state.remaining(job.id).count());
    const double gain = (work / job.wanted_rate - work / next.rate) / (next.gpus - now.gpus);
    if (gain > 0) steps_.push({gain, &job, next});
  }

  [[nodiscard]] Configuration next_width(const State& state, const ElasticJobs::Job& job,
                                         const Part& now) const {
    Configuration next{now.type, now.gpus + 1, 0.0};
    const bool may = now.gpus < state.max_gpus(job.id) && now.gpus < jobs_.total(now.type);
    if (may) next.rate = state.rate(job.id, now.type, next.gpus);
    return next;
  }

  [[nodiscard]] static Configuration next_configuration(const ElasticJobs::Job& job,
                                                        const Part& now) {
    for (const Configuration& candidate : job.configurations) {
      if (candidate.type == now.type && candidate.gpus > now.gpus) return candidate;
    }
    return {now.type, now.gpus, 0.0};
  }

  /// Who could grow but would not end earlier for it stays as it is.
  void spare_restarts(const State& state) {
    for (ElasticJobs::Job* job : jobs_.touched()) {
      if (job->wanted.size() != 1 || job->held_type() != job->wanted.front().type) continue;
      const bool grows = job->wanted.front().gpus > job->held_gpus();
      if (grows && !ElasticJobs::is_worth(state, *job, job->wanted_rate)) jobs_.keep(*job);
    }
  }

  Time period_;
  bool doubles_;
  ElasticJobs jobs_;
  WaitingLine waiting_;
  std::vector<Ref<ElasticJobs::Job>> arrived_;
  std::vector<WaitingLine::Entry> line_;  // those that run and whose GPUs were taken back
  Heap<Step> steps_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Optimus, .name = "optimus",
    .summary = "GPU by GPU to the job whose time left it shortens most.",
    .source =
        "Peng, Bao, Chen, Wu, Guo, Optimus, EuroSys 2018; tables known instead of fitted speeds.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant, Flag::approximate},
    .preemption =
        {.period = "period_s",
         .reason =
             "GPUs are taken back at multiples of the period only; between them what is idle is "
             "given out."},
    .parameters = Optimus::parameters())

}  // namespace gpusched
