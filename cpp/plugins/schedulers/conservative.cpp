#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "queueing/head_reservation.hpp"
#include "queueing/held_reservations.hpp"
#include "queueing/typed_reservations.hpp"
#include "seams/scheduler.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// Every waiting job holds a reservation of a number of GPUs that no later job may delay: in one
/// profile if all jobs may use the same types, else in one per set of types. A due reservation
/// without a placement floats: it claims its GPUs from now on until the job starts. The first
/// floating job is promised servers, like the first waiting job under `easy`.
class Conservative final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    control_ = &setup.control;
    due_.clear();
    const Cluster& cluster = setup.state.cluster();
    const std::vector<TypeMask> sets = TypedReservations::type_sets(setup.state);
    const bool may_share = setup.state.jobs().has_shares() && cluster.num_types() > 1;
    is_typed_ = sets.size() > 1 || may_share;
    typed_.begin(setup.state, takes_slow_twins);
    future_.begin(sets.empty() ? 0 : cluster.gpus_of(sets.front()), takes_slow_twins);
    head_.begin(setup);
    has_gap_ = false;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    const Time now = state.now();
    if (!is_typed_) future_.profile().advance(now);
    bool is_early = std::exchange(has_gap_, false);
    for (const JobId job : instant.finished) {
      const Time end = HeadReservation::expected_end(state, job);
      head_.finish(state, job);
      if (end <= now) continue;
      if (is_typed_) {
        typed_.finish(job, end);
      } else {
        future_.give_back(now, end, state.jobs().gpus(job));
      }
      is_early = true;
    }
    const bool has_future = !(is_typed_ ? typed_.empty() : future_.empty());
    if (has_future || !due_.empty() || !instant.arrived.empty()) {
      if ((is_early && has_future) || !instant.arrived.empty()) {
        reserve(state, instant.arrived, is_early);
      }
      start_due(state, actions);
    }
    if (due_.empty()) head_.rest();
  }

  /// Its reservation is released, as if a job had ended early.
  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    const Time length = state.jobs().estimate(job);
    const int gpus = state.jobs().gpus(job);
    const auto is_it = [&](const Reservation& held) { return held.job == job; };
    const bool is_due = std::erase_if(due_, is_it) > 0;
    if (is_typed_) {
      typed_.withdraw(job);
    } else if (is_due) {
      future_.stop_sliding(length, gpus);
    } else {
      future_.withdraw(job);
    }
    has_gap_ = true;
    return true;
  }

 private:
  /// A due reservation: `at` does not change, and gives the order of attempts.
  struct Reservation {
    JobId job;
    Time at;
    bool is_kept = true;  // in the profile
    bool has_started = false;

    friend bool operator<(const Reservation& a, const Reservation& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.job < b.job;
    }
  };

  void reserve(const State& state, std::span<const JobId> arrived, bool is_early) {
    if (is_typed_) {
      typed_.reserve(head_.running(), arrived, is_early, *control_);
      return;
    }
    // Jobs that exceed their estimate are expected to end at the next tick, at any time.
    const Time now = state.now();
    const std::int64_t overdue = head_.running().sum_until(now);
    future_.profile().take(now, now + kTick, overdue);
    if (is_early) future_.move_up(*control_);
    for (const JobId job : arrived) {
      control_->check();
      future_.add(job, state.jobs().gpus(job), state.jobs().estimate(job));
    }
    future_.give_back(now, now + kTick, overdue);
  }

  void start_due(const State& state, Actions& actions) {
    const Time now = state.now();
    const auto num_before = static_cast<std::ptrdiff_t>(due_.size());
    while (first_future() <= now) {
      if (is_typed_) {
        for (const auto& held : typed_.pop()) due_.push_back({held.job, held.at});
      } else {
        for (const auto& held : future_.pop()) due_.push_back({held.job, held.at});
      }
    }
    if (!due_.empty()) {
      const auto first_new = merge_new(due_.begin() + num_before);
      walk(state, actions);
      for (const std::size_t each : started_) settle(state, due_[each]);
      for (auto held = first_new; held != due_.end(); ++held) {
        if (!held->has_started) settle(state, *held);
      }
      drop_started();
    }
    // Due reservations that did not start are retried at the next event: nothing changes before.
    if (first_future() != kNever) actions.wake(first_future());
  }

  [[nodiscard]] Time first_future() const { return is_typed_ ? typed_.first() : future_.first(); }

  /// Sorts the reservations from there on; the first of which some are new.
  std::vector<Reservation>::iterator merge_new(std::vector<Reservation>::iterator added) {
    if (added == due_.end()) return added;
    const auto first = std::upper_bound(due_.begin(), added, *added);
    std::inplace_merge(first, added, due_.end());
    return first;
  }

  void drop_started() {
    if (started_.empty()) return;
    const auto first = due_.begin() + static_cast<std::ptrdiff_t>(started_.front());
    const auto has_started = [](const Reservation& held) { return held.has_started; };
    due_.erase(std::remove_if(first, due_.end(), has_started), due_.end());
  }

  /// Reservations that are due and still wait float: they take their GPUs from now on, whenever one
  /// asks. Those of jobs that run stay where they are, from their start.
  void settle(const State& state, Reservation& held) {
    if (is_typed_) {
      if (held.has_started) typed_.start(held.job);
      return;
    }
    const Time length = state.jobs().estimate(held.job);
    const int gpus = state.jobs().gpus(held.job);
    const bool starts_in_time = held.is_kept && held.at == state.now();
    if (held.has_started && starts_in_time) return;
    if (held.is_kept) future_.profile().take(held.at, held.at + length, -gpus);
    if (held.has_started) future_.profile().take(state.now(), state.now() + length, gpus);
    const bool slid = !held.is_kept;
    const bool slides = !held.has_started;
    if (slid != slides) future_.profile().slide(length, slides ? gpus : -gpus);
    held.is_kept = false;
  }

  void walk(const State& state, Actions& actions) {
    const JobClasses& classes = state.classes();
    JobId first = kNoJob;  // of those that wait on
    bool is_made = false;
    longest_.assign(classes.num_classes(), kNever);
    started_.clear();
    for (Reservation& held : due_) {
      if (state.occupancy().num_free() == 0 && !state.jobs().has_shares()) return;
      control_->check();
      const JobId job = held.job;
      const Time length = state.jobs().estimate(job);
      Time& longest = longest_[classes.of(job)];
      if (length > longest) continue;
      if (!placement_->place(state.occupancy(), state.request(job), allocation_)) {
        if (first == kNoJob) first = job;
        longest = Time{0};  // the class stays refused until GPUs are released
        continue;
      }
      if (first != kNoJob) {
        if (!is_made) head_.make(state, first);
        is_made = true;
        if (!head_.admits(state, job, allocation_)) {
          if (!placement_->allocation_depends_on_job()) longest = head_.longest(state);
          continue;
        }
      }
      actions.start(job, allocation_);
      head_.start(state, job);
      held.has_started = true;
      started_.push_back(static_cast<std::size_t>(&held - due_.data()));
      // Other GPUs are free now: what stood in the way before may not any more.
      for (Time& any : longest_) {
        if (any > Time{0}) any = kNever;
      }
    }
  }

  Ref<Placement> placement_;
  Ref<const RunControl> control_;
  bool is_typed_ = false;  // jobs may run on different types
  HeldReservations future_;
  TypedReservations typed_;
  std::vector<Reservation> due_;     // by instant and JobId
  std::vector<std::size_t> started_;  // of these, in a decision
  HeadReservation head_;
  std::vector<Time> longest_;  // by class: longer jobs cannot start now
  Allocation allocation_;
  bool has_gap_ = false;  // a reservation was given up since the last decision
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, Conservative, .name = "conservative",
                  .summary = "Conservative backfilling: every waiting job holds a reservation.",
                  .source = "Mu'alem, Feitelson, IEEE TPDS 12, 2001.", .flags = {Flag::estimate})

}  // namespace gpusched
