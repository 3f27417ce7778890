#include <algorithm>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/infinity.hpp"
#include "base/registry.hpp"
#include "base/stop_check.hpp"
#include "elastic/gpu_by_gpu.hpp"
#include "elastic/sorted_line.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {
namespace {

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
  }

 private:
  /// A job that could have more GPUs.
  struct Contender {
    JobId id;
    Ref<ElasticJobs::Job> job;
    Configuration to;
    double length;   // its time left with what it has
    double of_more;  // what it gains, as a part of what it then has
    double of_less;  // the same, as a part of what it has

    friend bool operator<(const Contender& a, const Contender& b) noexcept { return a.id < b.id; }
  };
  /// Of some contenders.
  struct Limits {
    double shortest = kInfinity;
    double of_more = 0.0;  // the greatest
    double of_less = 0.0;

    void add(const Contender& contender) noexcept {
      shortest = std::min(shortest, contender.length);
      of_more = std::max(of_more, contender.of_more);
      of_less = std::max(of_less, contender.of_less);
    }
    /// Whether one of them may go on instead of the one that has come so far.
    [[nodiscard]] bool may_pass(const Contender& so_far) const noexcept {
      return (shortest <= so_far.length && so_far.of_more <= of_less) || of_more > so_far.of_less;
    }
  };

  void give_out(const State& state) override {
    contenders_.clear();
    WaitingLine::Walk waiting = line();
    std::optional<Contender> newcomer = next_newcomer(state, waiting);
    while (jobs_.all_left() > 0) {
      if (newcomer && !jobs_.fits(*newcomer->job, newcomer->to)) {
        newcomer = newcomer_of(state, *newcomer->job);
        if (!newcomer) newcomer = next_newcomer(state, waiting);
      }
      const Contender* found = pass(newcomer ? &*newcomer : nullptr);
      if (found == nullptr) return;
      ElasticJobs::Job& job = *found->job;
      const int type = found->to.type;
      if (job.wanted.empty()) {
        give_least(job, found->to);
        newcomer = next_newcomer(state, waiting);
      } else {
        jobs_.give(job, found->to);
        contenders_.erase(*found);
      }
      contend(state, job);
      if (type == kSeveralTypes || jobs_.left(type) == 0) leave_out_those_without();
    }
  }

  /// Who comes out of a pass over all, by JobId; a block of which none goes on is passed over.
  [[nodiscard]] const Contender* pass(const Contender* found) {
    for (const auto& block : contenders_.blocks()) {
      stop_->count(1);
      if (found != nullptr && !block.note.may_pass(*found)) continue;
      stop_->count(block.entries.size());
      for (const Contender& contender : block.entries) {
        if (found == nullptr || passes(contender, *found)) found = &contender;
      }
    }
    return found;
  }

  /// A GPU more of a type that is used up.
  void leave_out_those_without() {
    rest_.clear();
    for (auto at = contenders_.begin(); !at.is_at_end(); ++at) {
      if (jobs_.left(at->to.type) > 0) rest_.push_back(*at);
    }
    contenders_.clear();
    contenders_.insert_all(rest_);
  }

  /// Whether the next one in a pass goes on instead of the one that has come so far.
  static bool passes(const Contender& next, const Contender& so_far) noexcept {
    if (so_far.length >= next.length) return so_far.of_more <= next.of_less;
    return next.of_more > so_far.of_less;
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
    return Contender{job.id, &job, *least, kInfinity, 1.0, kInfinity};
  }

  void contend(const State& state, ElasticJobs::Job& job) {
    if (!may_grow(job)) return;
    const Configuration next = next_width(state, job);
    const double gain = next.rate - job.wanted_rate;
    if (!(gain > 0)) return;
    const auto work = static_cast<double>(state.remaining(job.id).count());
    contenders_.insert(
        {job.id, &job, next, work / job.wanted_rate, gain / next.rate, gain / job.wanted_rate});
  }

  std::optional<ControlCheck> stop_;
  SortedLine<Contender, Limits> contenders_;
  std::vector<Contender> rest_;
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
