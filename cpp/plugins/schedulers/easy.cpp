#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "queueing/backfill_walk.hpp"
#include "queueing/deep_backfilling.hpp"
#include "queueing/head_reservation.hpp"
#include "queueing/placeable_classes.hpp"
#include "queueing/prefetch.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {
namespace {

/// Aggressive backfilling: the head of the line holds the one reservation, and a later job may
/// start now if it leaves that reservation alone. Rules that are not EASY's are left to
/// DeepBackfilling.
class Easy final : public Scheduler {
 public:
  explicit Easy(const Parameters& parameters) {
    rule_.admits_extra = parameters.flag("extra");
    rule_.depth = parameters.integer("depth");
    rule_.shortest_first = parameters.text("backfill") == "shortest";
    if (parameters.text("touch") == "strict") rule_.margin = kTick;
  }

  void begin(const Setup& setup) override {
    const JobTable& jobs = setup.state.jobs();
    const bool is_by_id = !jobs.has_precedences() && !jobs.has_requeues_back();
    if (rule_.depth > 1 || rule_.shortest_first || !is_by_id ||
        setup.placement.windows() != nullptr) {
      deep_.emplace(rule_);
      deep_->begin(setup);
      return;
    }
    placement_ = &setup.placement;
    is_pooled_ = placement_->is_pooled();
    line_.begin(jobs, setup.state.classes());
    reserved_for_ = refused_ = kNoJob;
    is_settled_ = false;
    placeable_.begin(setup, line_.heads());
    head_.begin(setup, rule_.admits_extra, rule_.margin);
  }

  [[nodiscard]] bool takes_windows() const override { return rule_.depth == 1; }
  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    if (deep_) return deep_->withdraw(state, job);
    line_.remove(job);
    if (refused_ == job) refused_ = kNoJob;
    if (reserved_for_ == job) reserved_for_ = kNoJob;
    return true;
  }

  [[nodiscard]] bool adopt(const State& state) override {
    if (deep_) return deep_->adopt(state);
    state.for_each_running([&](const Slot& run) { head_.start(state, run.job); });
    return true;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (deep_) {
      deep_->decide(state, instant, actions);
      return;
    }
    if (instant.has_other_gpus) {
      head_.change_gpus();
      reserved_for_ = kNoJob;
    }
    for (const JobId job : instant.finished) {
      head_.finish(state, job);
      if (reserved_for_ != kNoJob && HeadReservation::expected_end(state, job) != state.now()) {
        reserved_for_ = kNoJob;
      }
    }
    if (instant.has_released) refused_ = kNoJob;
    for (const JobId job : instant.arrived) {
      if (line_.empty()) {
        if (try_start(state, job, actions)) continue;
        refused_ = job;
      }
      line_.add(job);
    }
    const JobId head = start_heads(state, actions);
    if (head == kNoJob) {
      reserved_for_ = kNoJob;
      head_.untrack(state);
      return;
    }
    if (line_.size() == 1 || is_full(state)) return;
    head_.track(state);
    // Ends at the expected time keep the reservation of the first waiting job, and so do starts
    // that end before it. If nothing else ended or started, no skipped job fits now, and only new
    // jobs are judged.
    const bool stands = reserved_for_ == head && first_end() > state.now();
    const bool is_still = stands && is_settled_ && !instant.has_released;
    is_settled_ = true;
    if (is_still) {
      for (const JobId job : instant.arrived) backfill(state, job, actions);
      return;
    }
    placeable_.begin_walk(state);
    if (!placeable_.has_any(line_.heads())) return;
    if (!stands) reserve(state, head);
    walk(state, actions);
  }

 private:
  /// Returns the first that has to wait.
  JobId start_heads(const State& state, Actions& actions) {
    for (;;) {
      const JobId head = line_.first();
      if (head == kNoJob || head == refused_) return head;
      if (!try_start(state, head, actions)) return refused_ = head;
      line_.remove(head);
    }
  }

  [[nodiscard]] Time first_end() const {
    return head_.running().empty() ? kNever : head_.running().front().end;
  }

  /// Shares may still fit where no GPU is wholly free.
  [[nodiscard]] static bool is_full(const State& state) {
    return state.occupancy().num_free() == 0 && !state.jobs().has_shares();
  }

  void start(const State& state, JobId job, Actions& actions) {
    // In a pool, the reservation counts later ends (see HeadReservation). On servers, these may
    // change the reserved placement, and any start may change the placement of skipped jobs.
    if (!is_pooled_) {
      is_settled_ = false;
      if (state.now() + state.jobs().estimate(job) > head_.shadow_time()) reserved_for_ = kNoJob;
    } else if (rule_.margin > Time{0} && state.jobs().estimate(job) > head_.longest(state)) {
      reserved_for_ =
          kNoJob;  // one that ends at the reserved start took GPUs that are free by then
    }
    actions.start(job, allocation_);
    head_.start(state, job);
  }

  [[nodiscard]] bool place(const State& state, JobId job) {
    const Request request = state.request(job);
    return request.room() <= state.occupancy().num_free() &&
           placement_->place(state.occupancy(), request, allocation_);
  }

  bool try_start(const State& state, JobId job, Actions& actions) {
    if (!place(state, job)) return false;
    start(state, job, actions);
    return true;
  }

  void reserve(const State& state, JobId head) {
    head_.make(state, head);
    reserved_for_ = head;
  }

  /// A newcomer, where no other job fits.
  void backfill(const State& state, JobId job, Actions& actions) {
    if (place(state, job) && head_.admits(state, job, allocation_)) {
      start(state, job, actions);
      line_.remove(job);
    }
  }

  void walk(const State& state, Actions& actions) {
    const JobClasses& classes = state.classes();
    const Time longest = head_.longest(state);
    line_.begin_walk();
    for (std::int64_t spare = head_.spare(state); !is_full(state);) {
      ClassId id = 0;
      const JobId job = placeable_.least(line_.heads(), state, id, spare, longest.count()).job;
      if (job == kNoJob) break;
      if (classes.room(id) > spare && state.jobs().estimate(job) > longest) {
        line_.pass_over(id, longest);
        continue;
      }
      prefetch(state, job);
      if (!place(state, job)) {
        line_.close(id, placeable_.refuses_alone(state, id));
      } else if (head_.admits(state, job, allocation_)) {
        start(state, job, actions);
        placeable_.measure(state);
        spare = head_.spare(state);
        line_.start(id, spare);
      } else {
        line_.pass_over(id, placement_->allocation_depends_on_job() ? kNever : longest);
      }
    }
    line_.end_walk();
    placeable_.end_walk(state);
  }

  BackfillRule rule_;
  // With another rule, another order than by JobId, or where maintenance is known ahead.
  std::optional<DeepBackfilling> deep_;
  Ref<Placement> placement_;
  bool is_pooled_ = false;
  BackfillWalk line_;
  Allocation allocation_;
  JobId reserved_for_ = kNoJob;
  JobId refused_ = kNoJob;   // the head, and nothing was released since
  bool is_settled_ = false;  // nothing started since the whole queue was judged
  HeadReservation head_;
  PlaceableClasses placeable_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Easy, .name = "easy",
    .summary = "EASY backfilling: a later job may start if it does not delay the first.",
    .source = "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995.",
    .flags = {Flag::estimate, Flag::outages, Flag::priorities},
    .parameters = {{.name = "extra",
                    .fallback = true,
                    .help = "a later job may run past a reserved start on GPUs that the "
                            "reservation leaves free; false: only jobs that end by then may start"},
                   {.name = "depth",
                    .fallback = std::int64_t{1},
                    .help = "number of waiting jobs with a reservation; each "
                            "beyond the first takes time that grows with the "
                            "running jobs and the other reservations",
                    .minimum = 1,
                    .maximum = 1e3},
                   {.name = "backfill",
                    .fallback = std::string("submit"),
                    .help = "order in which the jobs behind the reservations are "
                            "tried: by submit, or shortest estimate first",
                    .choices = {"submit", "shortest"}},
                   {.name = "touch",
                    .fallback = std::string("allowed"),
                    .help = "strict: a job ends before a reserved start on its GPUs, as Slurm's "
                            "backfilling requires; allowed: or at it",
                    .choices = {"allowed", "strict"}}})

}  // namespace gpusched
