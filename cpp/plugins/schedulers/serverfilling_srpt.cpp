#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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

/// Takes the shortest prefix, by remaining work, that could fill the cluster, and serves it widest
/// first; recomputed at each decision.
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
    const std::int64_t num_gpus = setup.state.gpus_up();
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
            " jobs have a number of GPUs that is not a power of two dividing the cluster; the "
            "filling is not exact and may leave GPUs idle"};
  }

 protected:
  void choose(const State& state) override {
    // The prefix in key order; waiting jobs leave the queue and return if they are not served.
    const std::int64_t num_gpus = state.gpus_up();
    std::int64_t missing = num_gpus;
    std::size_t next = 0;
    prefix_.clear();
    ClassId id = 0;
    KeyedJob waiting = queue_.least(num_gpus, id);
    while (missing > 0) {
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
        waiting = queue_.least(num_gpus, id);
      }
    }

    serve_widest_first(num_gpus);
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

  /// Serves the first jobs of each width in key order, as many as the wider ones leave room for;
  /// before all, those that may not be preempted yet.
  void serve_widest_first(std::int64_t budget) {
    for (const Candidate& job : prefix_) {
      if (job.job.precedence == kYoung) {
        budget -= job.gpus;
        continue;
      }
      const auto gpus = static_cast<std::size_t>(job.gpus);
      if (gpus >= num_of_width_.size()) num_of_width_.resize(gpus + 1);
      if (num_of_width_[gpus]++ == 0) widths_.push_back(gpus);
    }
    std::ranges::sort(widths_, std::greater());
    bool is_over = false;
    for (const std::size_t gpus : widths_) {
      std::int64_t& num = num_of_width_[gpus];
      const std::int64_t wanted = num;
      const auto each = static_cast<std::int64_t>(gpus);
      if (is_over) num = 0;
      if (each > 0) num = std::min(num, budget / each);
      budget -= num * each;
      is_over = is_strict_ && num < wanted;
    }
    for (Candidate& job : prefix_) {
      job.is_served =
          job.job.precedence == kYoung || num_of_width_[static_cast<std::size_t>(job.gpus)]-- > 0;
    }
    for (const std::size_t gpus : widths_) num_of_width_[gpus] = 0;
    widths_.clear();
  }

  bool is_strict_;
  std::uint64_t num_odd_widths_ = 0;
  std::vector<Candidate> prefix_;
  std::vector<std::int64_t> num_of_width_;  // of the prefix; 0 between decisions
  std::vector<std::size_t> widths_;
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
    .summary = "The jobs of shortest remaining work that fill the cluster, the largest first.",
    .source = "Grosof, Scully, Harchol-Balter, Scheller-Wolf, SIGMETRICS 2023.",
    .flags = {Flag::preemptive, Flag::clairvoyant, Flag::outages, Flag::priorities},
    .preemption = WholeFilling::preemption(), .parameters = PreemptiveScheduler::parameters())

}  // namespace gpusched
