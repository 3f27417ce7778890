#include <algorithm>
#include <cstddef>
#include <limits>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "elastic/elastic_jobs.hpp"
#include "elastic/waiting_line.hpp"

namespace gpusched {
namespace {

/// In the order of deadlines each job takes the fastest configuration that is left, as if it were
/// alone. No job is turned down, none is spared.
class EdfFastest final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    jobs_.begin(setup);
    holders_.clear();
    waiting_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (!instant.finished.empty()) {
      std::erase_if(holders_, [&](const Holder& holder) {
        return std::binary_search(instant.finished.begin(), instant.finished.end(), holder.id);
      });
    }
    jobs_.open(state, instant);
    const auto key = [&](const ElasticJobs::Job& job) {
      return state.jobs().deadline(job.id).count();
    };
    arrived_.clear();
    for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
    waiting_.add(arrived_, key);
    jobs_.take_all_back();
    give_out();
    jobs_.apply(state, actions);
    waiting_.update(jobs_.touched(), key);
    note_holders(key);
  }

  [[nodiscard]] bool withdraw(const State& /*state*/, JobId job) override {
    waiting_.forget(jobs_.job(job));
    jobs_.forget(job);
    return true;
  }

 private:
  struct Holder {
    std::int64_t deadline;
    JobId id;
    int type;  ///< what it holds, if that is the best that it could have
    int gpus;  ///< 0 if it is not
    Ref<ElasticJobs::Job> job;

    friend bool operator<(const Holder& a, const Holder& b) noexcept {
      return a.deadline != b.deadline ? a.deadline < b.deadline : a.id < b.id;
    }
  };

  static bool is_before(const WaitingLine::Entry& waiting, const Holder& holder) noexcept {
    return waiting.key != holder.deadline ? waiting.key < holder.deadline : waiting.id < holder.id;
  }

  /// Whoever holds GPUs and whoever waits, in one order.
  void give_out() {
    WaitingLine::Lines::Walk waiting(waiting_.lines());
    const auto any = [](const LeastGpus&) { return true; };
    const auto fits = [&](const LeastGpus& need) { return need.is_left(jobs_); };
    // Whether it fits is asked when it is its turn.
    const WaitingLine::Entry* next = waiting.first(any);
    for (const Holder& holder : holders_) {
      while (next != nullptr && is_before(*next, holder)) {
        next = waiting.first(fits);
        if (next == nullptr || !is_before(*next, holder)) break;
        give_best(*next->item);
        waiting.pop();
        next = waiting.first(any);
      }
      // Who holds the best that it could have keeps it, if it is left: nothing else is looked up.
      if (holder.gpus > 0 && holder.gpus <= jobs_.left(holder.type)) {
        jobs_.retain(holder.type, holder.gpus);
        continue;
      }
      jobs_.drop(*holder.job);
      if (jobs_.all_left() > 0) give_best(*holder.job);
    }
    while ((next = waiting.first(fits)) != nullptr) {
      give_best(*next->item);
      waiting.pop();
    }
  }

  void give_best(ElasticJobs::Job& job) {
    const Configuration* best = jobs_.fastest(job, std::numeric_limits<int>::max());
    if (best == nullptr) return;
    // Of two equally fast ones the job keeps what it holds.
    if (!job.held.empty() && job.held_rate >= best->rate && jobs_.keep(job)) return;
    jobs_.give(job, *best);
  }

  /// Writes down what those that were touched hold now.
  template <class Key>
  void note_holders(Key key) {
    const std::size_t num_before = holders_.size();
    bool has_gone = false;
    for (ElasticJobs::Job* job : jobs_.touched()) {
      const Holder now = holder_of(key(*job), *job);
      const auto known = holders_.begin() + static_cast<std::ptrdiff_t>(num_before);
      const auto at = std::lower_bound(holders_.begin(), known, now);
      const bool is_known = at != known && at->id == job->id;
      if (is_known) {
        *at = now;
        has_gone = has_gone || job->held.empty();
      } else if (!job->held.empty()) {
        holders_.push_back(now);
      }
    }
    const auto middle = holders_.begin() + static_cast<std::ptrdiff_t>(num_before);
    if (middle != holders_.end()) {
      std::sort(middle, holders_.end());
      std::inplace_merge(holders_.begin(), middle, holders_.end());
    }
    if (has_gone)
      std::erase_if(holders_, [](const Holder& holder) { return holder.job == nullptr; });
  }

  /// Without a job where it holds nothing.
  static Holder holder_of(std::int64_t deadline, ElasticJobs::Job& job) {
    Holder holder{deadline, job.id, 0, 0, job.held.empty() ? nullptr : &job};
    if (job.held.size() != 1 || job.is_mixed()) return holder;
    const bool is_best =
        std::all_of(job.configurations.begin(), job.configurations.end(),
                    [&](const Configuration& other) { return other.rate <= job.held_rate; });
    if (!is_best) return holder;
    holder.type = job.held.front().type;
    holder.gpus = job.held.front().gpus;
    return holder;
  }

  ElasticJobs jobs_;
  std::vector<Holder> holders_;  // by (deadline, job)
  WaitingLine waiting_;          // the same
  std::vector<Ref<ElasticJobs::Job>> arrived_;
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
