#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/gpu_by_gpu.hpp"
#include "elastic/growth_contest.hpp"
#include "elastic/waiting_line.hpp"
#include "elastic/width_growth.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// Each GPU goes to the winner of a pass over all jobs that compares two at a time. The longer job
/// wins if the GPU adds more to its throughput, relative to that with the GPU, than to that of the
/// shorter one, relative to that without: the shorter one will end first, and leave its GPUs to the
/// other.
class Afs final : public GpuByGpu {
 public:
  explicit Afs(const Parameters& parameters) : GpuByGpu(parameters.seconds("period_s")) {}

  static std::vector<ParameterInfo> parameters() { return {period(0.0)}; }

  void begin(const Setup& setup) override {
    GpuByGpu::begin(setup);
    contest_.begin(takes_slow_twins);
    const Speed& speed = setup.state.speed();
    // With links a job may become faster without being touched.
    regrows_ = !speed.is_fixed() && !speed.uses_links() && !takes_slow_twins;
    width_growth_.begin(setup);
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (regrows_) {
      for (const JobId id : instant.finished) width_growth_.forget(jobs_.job(id));
      width_growth_.take_up_changed(state, jobs_);
      for (const JobId id : instant.arrived) width_growth_.note(id);
    }
    GpuByGpu::decide(state, instant, actions);
    if (!regrows_ || jobs_.empty()) return;
    for (const ElasticJobs::Job* job : jobs_.touched()) width_growth_.note(job->id);
    for (const JobId id : jobs_.moved()) width_growth_.note(id);
  }

  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (regrows_) width_growth_.forget(jobs_.job(job));
    return GpuByGpu::withdraw(state, job);
  }

 private:
  /// A job without GPUs, and its minimum width.
  struct Newcomer {
    Ref<ElasticJobs::Job> job;
    Configuration least;
  };

  [[nodiscard]] bool give_out_to_few(const State& state) override {
    if (!regrows_) return false;
    width_growth_.take_up_changed(state, jobs_);  // arrivals
    return width_growth_.give_out(state, jobs_, *stop_);
  }

  void give_out(const State& state) override {
    contest_.clear();
    WaitingLine::Walk waiting = line();
    std::optional<Newcomer> newcomer = next_newcomer(state, waiting);
    while (jobs_.all_left() > 0) {
      stop_->count(kStepsOfGift);
      if (newcomer && !jobs_.fits(*newcomer->job, newcomer->least)) {
        newcomer = newcomer_of(state, *newcomer->job);
        if (!newcomer) newcomer = next_newcomer(state, waiting);
      }
      Contender* winner =
          newcomer ? contest_.winner_from(kOfNewcomer, *stop_) : contest_.winner(*stop_);
      int type = kSeveralTypes;
      if (winner != nullptr) {
        type = winner->type;
        grow(state, *winner);
      } else if (newcomer) {
        type = newcomer->least.type;
        give_least(*newcomer->job, newcomer->least);
        enter(state, *newcomer->job);
        newcomer = next_newcomer(state, waiting);
      } else {
        break;
      }
      if (type == kSeveralTypes || jobs_.left(type) == 0) leave_out_those_without();
    }
    for (const Contender& contender : contest_.all()) {
      ElasticJobs::widen(*contender.job, contender.gpus, contender.rate);
    }
  }

  void enter(const State& state, ElasticJobs::Job& job) {
    if (!may_grow(job)) return;
    const Part& now = job.wanted.front();
    const auto work = static_cast<double>(state.remaining(job.id).count());
    Contender contender{job.id,          now.type, now.gpus, most_gpus(state, job),
                        job.wanted_rate, 0.0,      work,     &job};
    contender.find_next_rate(state);
    if (contender.gains()) contest_.insert(contender);
  }

  void grow(const State& state, Contender& winner) {
    jobs_.retain(winner.type, 1);
    winner.grow(state);
    contest_.claim_again();
  }

  /// A GPU more of a type that is used up.
  void leave_out_those_without() {
    contest_.keep_those([&](const Contender& contender) { return jobs_.left(contender.type) > 0; });
  }

  std::optional<Newcomer> next_newcomer(const State& state, WaitingLine::Walk& waiting) const {
    while (ElasticJobs::Job* job = waiting.next()) {
      std::optional<Newcomer> found = newcomer_of(state, *job);
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<Newcomer> newcomer_of(const State& state, ElasticJobs::Job& job) const {
    const Configuration* least = least_width(state, job);
    if (least == nullptr) return std::nullopt;
    return Newcomer{&job, *least};
  }

  GrowthContest contest_;
  bool regrows_ = false;
  WidthGrowth width_growth_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Afs, .name = "afs",
    .summary = "Gives out GPUs one at a time, each to the winner of pairwise job comparisons.",
    .source = "Hwang, Kim, Kim, Shin, Park, NSDI 2021: AFS-L, as implemented in another program.",
    .differs =
        "A job that gains nothing gets no further GPU, jobs grow on one type, and no job "
        "restarts unless it pays. Written without access to the paper.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant},
    .preemption = GpuByGpu::preemption(), .parameters = Afs::parameters())

}  // namespace gpusched
