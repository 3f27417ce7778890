#include <algorithm>
#include <bit>
#include <memory>

#include "base/registry.hpp"
#include "preemption/kinetic_scheduler.hpp"
#include "preemption/preemptive_scheduler.hpp"

namespace gpusched {
namespace {

struct RemainingWorkKey {
  static constexpr KeyLifetime kLifetime = KeyLifetime::service;

  double operator()(const QueueView& view, JobId job) const noexcept {
    return static_cast<double>(view.gpus(job)) * key_of(view.remaining(job));
  }
  static KeyLine line(const QueueView& view, JobId job) noexcept {
    return remaining_work_line(view, job);
  }
};

/// Takes the shortest prefix, by remaining work, that could fill the cluster, and serves it
/// widest first; all anew at each decision.
class WholeFilling final : public PreemptiveScheduler {
 public:
  static PreemptionBound preemption() {
    PreemptionBound bound = PreemptiveScheduler::preemption();
    bound.one_per_arrival = true;
    bound.reason = kNeverOvertaken;
    return bound;
  }

  explicit WholeFilling(const Parameters& parameters)
      : PreemptiveScheduler(std::make_unique<KeyOrder<RemainingWorkKey>>(), parameters),
        is_strict_(parameters.text("scan") == "strict") {}

  void begin(const Setup& setup) override {
    PreemptiveScheduler::begin(setup);
    num_odd_widths_ = 0;
    const std::int64_t num_gpus = setup.state.cluster().num_gpus();
    for (JobId job = 0; job < setup.state.jobs().num_jobs(); ++job) {
      const auto gpus = static_cast<std::uint64_t>(setup.state.jobs().gpus(job));
      const bool divides =
          std::has_single_bit(gpus) && num_gpus % static_cast<std::int64_t>(gpus) == 0;
      num_odd_widths_ += divides ? 0 : 1;
    }
  }

  [[nodiscard]] std::vector<std::string> warnings() const override {
    if (num_odd_widths_ == 0) return {};
    return {std::to_string(num_odd_widths_) +
            " jobs have a width that is no power of two dividing the cluster: the filling "
            "is not exact and may leave GPUs idle"};
  }

 protected:
  void choose(const State& state) override {
    // The prefix in key order; waiting jobs leave the queue and return if they are not served.
    std::int64_t missing = state.cluster().num_gpus();
    std::size_t next = 0;
    prefix_.clear();
    while (missing > 0) {
      ClassId id = 0;
      const KeyedJob waiting = queue_.least(state.cluster().num_gpus(), id);
      const KeyedJob running = next < running_.size() ? running_[next] : WaitingQueue::kNone;
      if (waiting.job == kNoJob && running.job == kNoJob) break;
      const bool is_running = running < waiting;
      const KeyedJob job = is_running ? running : waiting;
      const int gpus = state.jobs().gpus(job.job);
      missing -= gpus;
      prefix_.push_back({job, gpus, id, is_running, false});
      if (is_running) {
        ++next;
      } else {
        queue_.pop(id);
      }
    }

    widest_first_.resize(prefix_.size());
    for (std::size_t i = 0; i < prefix_.size(); ++i) widest_first_[i] = i;
    std::stable_sort(widest_first_.begin(), widest_first_.end(), [&](std::size_t a, std::size_t b) {
      return prefix_[a].gpus > prefix_[b].gpus;
    });
    std::int64_t budget = state.cluster().num_gpus();
    for (const std::size_t i : widest_first_) {
      if (prefix_[i].gpus > budget) {
        if (is_strict_) break;
        continue;
      }
      prefix_[i].is_served = true;
      budget -= prefix_[i].gpus;
    }
    for (const Candidate& job : prefix_) {
      if (job.is_running) {
        if (job.is_served) {
          kept_.push_back(job.job);
        } else {
          untaken_.push_back(job.job);
        }
      } else if (job.is_served) {
        taken_.push_back({job.job, job.id});
      } else {
        queue_.push(job.id, job.job);
      }
    }
    // After those of the prefix: step 4 asks them in the order of keys.
    untaken_.insert(untaken_.end(), running_.begin() + static_cast<std::ptrdiff_t>(next),
                    running_.end());
  }

 private:
  struct Candidate {
    KeyedJob job;
    int gpus;
    ClassId id;
    bool is_running;
    bool is_served;
  };

  bool is_strict_;
  std::uint64_t num_odd_widths_ = 0;
  std::vector<Candidate> prefix_;
  std::vector<std::size_t> widest_first_;
};

class ServerFillingSrpt final : public KineticScheduler {
 public:
  explicit ServerFillingSrpt(const Parameters& parameters)
      : KineticScheduler(std::make_unique<WholeFilling>(parameters),
                         parameters.text("scan") == "strict" ? ChoiceRule::strict_filling
                                                             : ChoiceRule::filling,
                         parameters) {}
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, ServerFillingSrpt, .name = "serverfilling-srpt",
    .summary = "The shortest remaining work that fills the cluster, served widest first.",
    .source = "Grosof, Scully, Harchol-Balter, Scheller-Wolf, SIGMETRICS 2023.",
    .flags = {Flag::preemptive, Flag::clairvoyant}, .preemption = WholeFilling::preemption(),
    .parameters = PreemptiveScheduler::parameters())

}  // namespace gpusched
