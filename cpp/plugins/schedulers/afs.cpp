#include <cstddef>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/infinity.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/contest.hpp"
#include "elastic/gpu_by_gpu.hpp"
#include "elastic/waiting_line.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

constexpr std::size_t kStepsOfGift = 100;  // beside those of the pass: one job changes in all lines

/// GPU after GPU goes to the job that comes out of a pass over all of them, in which two are
/// compared at a time. Of two, the longer one goes on if the GPU adds more to its throughput, as a
/// part of what it then has, than to that of the shorter one, as a part of what it has now: the
/// shorter one will have ended by then, and leave its GPUs to the other.
class Afs final : public GpuByGpu {
 public:
  explicit Afs(const Parameters& parameters) : GpuByGpu(parameters.seconds("period_s")) {}

  static std::vector<ParameterInfo> parameters() { return {period(0.0)}; }

  void begin(const Setup& setup) override {
    GpuByGpu::begin(setup);
    stop_.emplace(setup.control);
    contest_.begin(takes_slow_twins);
  }

 private:
  void give_out(const State& state) override {
    contest_.clear();
    WaitingLine::Walk waiting = line();
    std::optional<Contender> newcomer = next_newcomer(state, waiting);
    while (jobs_.all_left() > 0) {
      stop_->count(kStepsOfGift);
      if (newcomer && !jobs_.fits(*newcomer->job, newcomer->to)) {
        newcomer = newcomer_of(state, *newcomer->job);
        if (!newcomer) newcomer = next_newcomer(state, waiting);
      }
      const Contender* found =
          newcomer ? contest_.winner_from(*newcomer, *stop_) : contest_.winner(*stop_);
      if (found == nullptr) return;
      const int type = found->to.type;
      if (found->job->wanted.empty()) {
        give_least(*found->job, found->to);
        if (const auto next = contender_of(state, *found->job, found->work)) contest_.insert(*next);
        newcomer = next_newcomer(state, waiting);
      } else {
        grow(state, *found);
      }
      if (type == kSeveralTypes || jobs_.left(type) == 0) leave_out_those_without();
    }
  }

  void grow(const State& state, const Contender& winner) {
    jobs_.widen(*winner.job, winner.to.rate);
    if (const auto next = contender_of(state, *winner.job, winner.work)) {
      contest_.replace(*next);
    } else {
      contest_.erase(winner);
    }
  }

  /// A GPU more of a type that is used up.
  void leave_out_those_without() {
    contest_.keep_those(
        [&](const Contender& contender) { return jobs_.left(contender.to.type) > 0; });
  }

  /// Jobs without GPUs have no throughput: of those the shortest goes on.
  std::optional<Contender> next_newcomer(const State& state, WaitingLine::Walk& waiting) const {
    while (ElasticJobs::Job* job = waiting.next()) {
      std::optional<Contender> found = newcomer_of(state, *job);
      if (found) return found;
    }
    return std::nullopt;
  }

  std::optional<Contender> newcomer_of(const State& state, ElasticJobs::Job& job) const {
    const Configuration* least = least_width(state, job);
    if (least == nullptr) return std::nullopt;
    return Contender{job.id, &job, *least, kInfinity, 1.0, kInfinity, work_of(state, job)};
  }

  [[nodiscard]] static double work_of(const State& state, const ElasticJobs::Job& job) {
    return static_cast<double>(state.remaining(job.id).count());
  }

  std::optional<Contender> contender_of(const State& state, ElasticJobs::Job& job,
                                        double work) const {
    if (!may_grow(job)) return std::nullopt;
    const Configuration next = next_width(state, job);
    const double gain = next.rate - job.wanted_rate;
    if (!(gain > 0)) return std::nullopt;
    return Contender{
        job.id, &job, next, work / job.wanted_rate, gain / next.rate, gain / job.wanted_rate, work};
  }

  std::optional<ControlCheck> stop_;
  Contest contest_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Afs, .name = "afs",
    .summary = "GPU by GPU to whom comes out of comparing two jobs after the other.",
    .source = "Hwang, Kim, Kim, Shin, Park, NSDI 2021: AFS-L, as another program spells it.",
    .differs =
        "Who gains nothing has no further GPU, jobs grow on one type, and no restart is "
        "begun that does not pay; the text of the paper was not read.",
    .flags = {Flag::preemptive, Flag::elastic, Flag::clairvoyant},
    .preemption = GpuByGpu::preemption(), .parameters = Afs::parameters())

}  // namespace gpusched
