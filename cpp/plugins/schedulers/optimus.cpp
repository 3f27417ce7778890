#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/registry.hpp"
#include "elastic/gpu_by_gpu.hpp"

namespace gpusched {
namespace {

/// Each job gets its minimum width, the job with the least remaining time first; then each further
/// GPU goes to the job whose remaining time it shortens most.
class Optimus final : public GpuByGpu {
 public:
  explicit Optimus(const Parameters& parameters)
      : GpuByGpu(parameters.seconds("period_s")), doubles_(parameters.text("step") == "double") {}

  static std::vector<ParameterInfo> parameters() {
    return {period(600.0),
            {.name = "step",
             .fallback = std::string("one"),
             .help = "step by which a job grows: one GPU, or to the next power of two; gains "
                     "are compared per GPU",
             .choices = {"one", "double"}}};
  }

 private:
  /// The gain of a job from one step.
  struct Step {
    double gain;  // seconds of its time left, per GPU added
    Ref<ElasticJobs::Job> job;
    Configuration to;

    /// For a heap with the greatest gain on top.
    friend bool operator<(const Step& a, const Step& b) noexcept {
      return a.gain != b.gain ? a.gain > b.gain : a.job->id < b.job->id;
    }
  };

  void give_out(const State& state) override {
    give_least(state);
    steps_.clear();
    // Jobs that still pay for a restart were not touched.
    for (ElasticJobs::Job* job : jobs_.touched()) {
      stop_->count(kStepsOfWidth);
      if (may_grow(*job)) offer(state, *job);
    }
    while (!steps_.empty() && jobs_.all_left() > 0) {
      stop_->count(kStepsOfWidth);
      const Step step = steps_.top();
      steps_.pop();
      if (jobs_.give(*step.job, step.to)) offer(state, *step.job);
    }
  }

  void offer(const State& state, ElasticJobs::Job& job) {
    const Part& now = job.wanted.front();
    const Configuration next =
        doubles_ ? next_configuration(job, now) : next_width(state, job, most_gpus(state, job));
    if (!(next.rate > job.wanted_rate)) return;
    const auto work = static_cast<double>(state.remaining(job.id).count());
    const double gain = (work / job.wanted_rate - work / next.rate) / (next.gpus - now.gpus);
    if (gain > 0) steps_.push({gain, &job, next});
  }

  [[nodiscard]] static Configuration next_configuration(const ElasticJobs::Job& job,
                                                        const Part& now) {
    for (const Configuration& candidate : job.configurations) {
      if (candidate.type == now.type && candidate.gpus > now.gpus) return candidate;
    }
    return {now.type, now.gpus, 0.0};
  }

  bool doubles_;
  Heap<Step> steps_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Optimus, .name = "optimus",
    .summary = "Gives out GPUs one at a time, each to the job that it speeds up most.",
    .source = "Peng, Bao, Chen, Wu, Guo, Optimus, EuroSys 2018.",
    .differs =
        "The speed on each number of GPUs is known (the paper fits it as jobs run); a GPU is "
        "one worker, without parameter servers.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant},
    .preemption = GpuByGpu::preemption(), .parameters = Optimus::parameters())

}  // namespace gpusched
