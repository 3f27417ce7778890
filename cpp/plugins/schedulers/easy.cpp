#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "listing/backfill_walk.hpp"
#include "listing/deep_backfilling.hpp"
#include "listing/gained_servers.hpp"
#include "listing/head_reservation.hpp"
#include "listing/prefetch.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {
namespace {

/// Aggressive backfilling: the head of the line holds the one reservation, and a later job may
/// start now if it leaves that reservation alone. Rules that are not EASY's are left to
/// DeepBackfilling.
class Easy final : public Scheduler {
 public:
  explicit Easy(const Parameters& parameters) {
    BackfillRule rule;
    rule.admits_extra = admits_extra_ = parameters.flag("extra");
    rule.depth = parameters.integer("depth");
    rule.shortest_first = parameters.text("backfill") == "shortest";
    if (rule.depth > 1 || rule.shortest_first) deep_.emplace(rule);
  }

  void begin(const Setup& setup) override {
    if (deep_) {
      deep_->begin(setup);
      return;
    }
    placement_ = &setup.placement;
    is_pooled_ = placement_->is_pooled();
    line_.begin(setup.state.jobs(), setup.state.classes());
    reserved_for_ = refused_ = kNoJob;
    is_settled_ = false;
    remembers_refusals_ =
        line_.has_tree() && setup.state.jobs().has_demands() && placement_->judges_servers_alone();
    gained_.settle(setup.state.occupancy());
    head_.begin(setup, admits_extra_);
  }

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
      head_.sleep(state);
      return;
    }
    if (line_.size() == 1 || is_full(state)) return;
    head_.wake_up(state);
    // Ends that come as expected leave the head's reservation as it is, and so do starts that
    // end before it. Where nothing ended or started either, none of the jobs passed over before
    // fits now, and only the newcomers are judged.
    const bool stands = reserved_for_ == head && first_end() > state.now();
    const bool is_still = stands && is_settled_ && !instant.has_released;
    if (is_pooled_) {
      if (!stands) reserve(state, head);
      if (is_still) {
        for (const JobId job : instant.arrived) backfill_pool(state, job, actions);
      } else {
        is_settled_ = true;
        scan_pool(state, head, actions);
      }
      return;
    }
    is_settled_ = true;
    if (is_still) {
      for (const JobId job : instant.arrived) backfill_server(state, job, actions);
    } else if (is_any_placeable(state)) {
      if (!stands) reserve(state, head);
      if (line_.has_tree()) {
        scan_many(state, head, actions);
      } else {
        scan_few(state, head, actions);
      }
    }
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

  [[nodiscard]] bool is_any_placeable(const State& state) {
    measure(state);
    for (std::size_t i = 0; i < widest_.size(); ++i) {
      if (line_.has_any(state.classes().groups()[i], widest_[i])) return true;
    }
    return false;
  }

  void measure(const State& state) {
    widest_.clear();
    for (const auto& group : state.classes().groups()) {
      widest_.push_back(placement_->widest(state.occupancy(), group.types));
    }
  }

  void start(const State& state, JobId job, Actions& actions) {
    // A pool's reservation counts with later ends (see backfill_pool). Among servers they may
    // move the head's placement, and any start the placement of who was passed over.
    if (!is_pooled_) {
      is_settled_ = false;
      if (state.now() + state.jobs().estimate(job) > head_.at()) reserved_for_ = kNoJob;
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

  bool backfill_pool(const State& state, JobId job, Actions& actions) {
    const int gpus = state.jobs().gpus(job);
    if (gpus > state.occupancy().num_free()) return false;
    allocation_.reset(gpus);
    if (!head_.admits(state, job, allocation_)) return false;
    start(state, job, actions);
    line_.remove(job);
    return true;
  }

  void scan_pool(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    for (JobId after = head;;) {
      JobId best = kNoJob;
      for (ClassId id = 0; id < classes.num_classes(); ++id) {
        if (classes.gpus(id) > state.occupancy().num_free()) break;  // one group, by width
        const Time longest = classes.gpus(id) <= head_.extra() ? kNever : head_.at() - state.now();
        best = line_.next(id, after, best, longest);
      }
      if (best == kNoJob) return;
      prefetch(state, best);
      backfill_pool(state, best, actions);
      after = best;
    }
  }

  /// A newcomer, where no other job fits.
  void backfill_server(const State& state, JobId job, Actions& actions) {
    if (place(state, job) && head_.admits(state, job, allocation_)) {
      start(state, job, actions);
      line_.remove(job);
    }
  }

  [[nodiscard]] JobId next_placeable(const State& state, std::int64_t spare, Time longest,
                                     ClassId& id) const {
    const Occupancy& free = state.occupancy();
    const JobClasses& classes = state.classes();
    const auto fits = [&](ClassId refused) {
      if (!remembers_refusals_) return true;
      const int gpus = classes.gpus(refused);
      return gained_.can_host(free, {classes.types(refused), gpus, false, *classes.demand(refused),
                                     gpus});
    };
    JobId best = kNoJob;
    for (std::size_t i = 0; i < widest_.size(); ++i) {
      const auto& group = classes.groups()[i];
      const std::int64_t widest = widest_[i];
      ClassTree::Most most =
          remembers_refusals_ ? gained_.most(free, widest) : ClassTree::Most{widest};
      most.spare = spare;
      most.longest = longest.count();
      ClassId at = 0;
      const JobId next = line_.next(group, most, fits, at);
      if (next >= best) continue;
      best = next;
      id = at;
    }
    return best;
  }

  [[nodiscard]] Time longest(const State& state) const {
    return head_.at() == kNever ? kNever : head_.at() - state.now();
  }

  /// Of few classes each is asked for its next job where the walk has come to.
  struct FewClasses {
    JobId after;
    Time longest;
    std::int64_t spare;
    std::uint64_t closed = 0;   // refused
    std::uint64_t limited = 0;  // whose long jobs are in the way until somebody starts
  };

  [[nodiscard]] JobId next_of_few(const JobClasses& classes, const FewClasses& walk, ClassId& id) {
    JobId best = kNoJob;
    for (std::size_t i = 0; i < widest_.size(); ++i) {
      const auto& group = classes.groups()[i];
      for (ClassId at = group.begin; at < group.end && classes.room(at) <= widest_[i]; ++at) {
        if ((walk.closed >> at & 1) != 0) continue;
        const bool is_limited = classes.room(at) > walk.spare || (walk.limited >> at & 1) != 0;
        const JobId job = line_.next(at, walk.after, best, is_limited ? walk.longest : kNever);
        if (job == best) continue;
        best = job;
        id = at;
      }
    }
    return best;
  }

  void scan_few(const State& state, JobId head, Actions& actions) {
    FewClasses walk{.after = head, .longest = longest(state), .spare = head_.spare(state)};
    for (;;) {
      ClassId id = 0;
      const JobId job = next_of_few(state.classes(), walk, id);
      if (job == kNoJob) return;
      prefetch(state, job);
      walk.after = job;
      const std::uint64_t own = std::uint64_t{1} << id;
      if (!place(state, job)) {
        walk.closed |= own;
      } else if (head_.admits(state, job, allocation_)) {
        start(state, job, actions);
        line_.remove(job);
        if (is_full(state)) return;
        measure(state);
        walk.spare = head_.spare(state);
        walk.limited = 0;
      } else if (!placement_->names_depend_on_job()) {
        walk.limited |= own;
      }
    }
  }

  void scan_many(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    const Time longest = this->longest(state);
    if (remembers_refusals_) gained_.collect(state.occupancy());
    line_.depart(head);
    for (std::int64_t spare = head_.spare(state);;) {
      ClassId id = 0;
      const JobId job = next_placeable(state, spare, longest, id);
      if (job == kNoJob) break;
      if (classes.room(id) > spare && state.jobs().estimate(job) > longest) {
        line_.pass_over(id, longest);
      } else if (!place(state, job)) {
        if (remembers_refusals_ &&
            classes.gpus(id) <= state.cluster().largest_server(classes.types(id))) {
          line_.refuse(id);
        } else {
          line_.close(id);
        }
      } else if (head_.admits(state, job, allocation_)) {
        start(state, job, actions);
        measure(state);
        spare = head_.spare(state);
        line_.start(id, spare);
      } else {
        line_.pass_over(id, placement_->names_depend_on_job() ? kNever : longest);
      }
    }
    line_.arrive();
    if (remembers_refusals_) gained_.settle(state.occupancy());
  }

  bool admits_extra_ = true;
  std::optional<DeepBackfilling> deep_;
  Ref<Placement> placement_;
  bool is_pooled_ = false;
  BackfillWalk line_;
  std::vector<std::int64_t> widest_;  // that the placement can hold, of each group of classes
  Allocation allocation_;
  JobId reserved_for_ = kNoJob;
  JobId refused_ = kNoJob;   // the head, and nothing was released since
  bool is_settled_ = false;  // nothing started since the whole queue was judged
  HeadReservation head_;
  bool remembers_refusals_ = false;
  GainedServers gained_;
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, Easy, .name = "easy",
                  .summary = "EASY backfilling: later jobs start if the head's start is unharmed.",
                  .source = "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995.",
                  .flags = {Flag::estimate},
                  .parameters = {{.name = "extra",
                                  .fallback = true,
                                  .help = "a later job that outlives a reserved start may begin on "
                                          "GPUs that the reservation leaves over; false: only jobs "
                                          "that end by then begin"},
                                 {.name = "depth",
                                  .fallback = std::int64_t{1},
                                  .help = "how many waiting jobs hold a reservation; each beyond "
                                          "the first takes time that grows with the running jobs "
                                          "and the other reservations",
                                  .minimum = 1,
                                  .maximum = 1e3},
                                 {.name = "backfill",
                                  .fallback = std::string("submit"),
                                  .help = "the order in which the jobs behind the reservations are "
                                          "tried: by submit, or the shortest estimate first",
                                  .choices = {"submit", "shortest"}}})

}  // namespace gpusched
