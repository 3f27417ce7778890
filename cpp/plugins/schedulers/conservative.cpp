#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "listing/head_reservation.hpp"
#include "reserving/free_profile.hpp"
#include "reserving/held_reservations.hpp"
#include "reserving/ruled_out.hpp"
#include "seams/scheduler.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// Every waiting job holds a reservation of a number of GPUs that no later job may delay. One
/// that has come and finds no place wants its GPUs from now on until it starts; the first of those
/// is promised servers, as the head of a line is under `easy`.
class Conservative final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    control_ = &setup.control;
    is_slow_ = takes_slow_twins;
    come_.clear();
    ahead_.clear();
    profile_.reset(setup.state.cluster().num_gpus());
    head_.begin(setup);
    has_gap_ = false;
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    const Time now = state.now();
    profile_.advance(now);
    bool is_early = std::exchange(has_gap_, false);
    for (const JobId job : instant.finished) {
      const Time end = HeadReservation::expected_end(state, job);
      head_.finish(state, job);
      if (end <= now) continue;
      profile_.take(now, end, -state.jobs().gpus(job));
      is_early = true;
    }
    const bool is_idle = come_.empty() && ahead_.empty();
    if (!is_idle || !instant.arrived.empty()) {
      if ((is_early && !ahead_.empty()) || !instant.arrived.empty()) {
        reserve(state, instant.arrived, is_early);
      }
      start_due(state, actions);
    }
    if (come_.empty()) head_.rest();
  }

  /// What it had reserved is free, as if a job had ended early.
  [[nodiscard]] bool withdraw(const State& state, JobId job) override {
    const Time length = state.jobs().estimate(job);
    const int gpus = state.jobs().gpus(job);
    const auto is_it = [&](const Reservation& held) { return held.job == job; };
    if (std::erase_if(come_, is_it) > 0) {
      profile_.slide(length, -gpus);
    } else {
      const HeldReservations::Held held = ahead_.remove(job);
      profile_.take(held.at, held.at + held.length, -held.gpus);
    }
    has_gap_ = true;
    return true;
  }

 private:
  /// One that has come: `at` stays as it is, and says who is tried first.
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
    // Who runs for longer than estimated does so until the next tick, whenever one asks.
    const std::int64_t overdue = head_.running().sum_until(state.now());
    if (overdue > 0) profile_.slide(kTick, overdue);
    if (is_early) move_up(state);
    for (const JobId job : arrived) {
      control_->check();
      const Time length = state.jobs().estimate(job);
      const int gpus = state.jobs().gpus(job);
      const Time at = profile_.earliest(length, gpus);
      profile_.take(at, at + length, gpus);
      ahead_.add({job, gpus, at, length});
    }
    if (overdue > 0) profile_.slide(kTick, -overdue);
  }

  /// Each by JobId takes the earliest fit among all the others.
  void move_up(const State& state) {
    ruled_out_.begin(state.now());
    for (HeldReservations::Held& held : ahead_.by_job()) {
      control_->check();
      if (held.at == kNever || held.at <= state.now()) continue;
      const Time at = is_slow_ ? fit_without(held) : earliest_fit(held);
      if (at >= held.at) continue;
      const Time given_back = std::max(held.at, at + held.length);
      profile_.take(held.at, held.at + held.length, -held.gpus);
      profile_.take(at, at + held.length, held.gpus);
      ahead_.move(held, at);
      ruled_out_.give_back(given_back, profile_.free_before(given_back));
    }
  }

  /// Hardly any can move: nothing that is long enough is free before its own GPUs are.
  Time earliest_fit(const HeldReservations::Held& held) {
    Time from = ruled_out_.from(held.gpus, held.length, held.at);
    if (from == held.at) {
      if (profile_.free_before(held.at) < held.gpus) return held.at;
      from = ruled_out_.from_before(held.gpus, held.length, held.at);
    }
    const Time at = profile_.search({held.gpus, held.length, from, held.at});
    ruled_out_.rule_out(held.gpus, held.length, at);
    const Time end = at + held.length;
    if (at == held.at || end <= held.at) return at;
    // Later on it takes its own: enough unless others want more than there is.
    const Time rest = end - held.at;
    const bool is_fit = profile_.search({0, rest, held.at, kNever}) == held.at;
    return is_fit ? at : fit_without(held);
  }

  Time fit_without(const HeldReservations::Held& held) {
    profile_.take(held.at, held.at + held.length, -held.gpus);
    const Time at = profile_.earliest(held.length, held.gpus);
    profile_.take(held.at, held.at + held.length, held.gpus);
    return at;
  }

  void start_due(const State& state, Actions& actions) {
    const Time now = state.now();
    const auto num_before = static_cast<std::ptrdiff_t>(come_.size());
    while (!ahead_.empty() && ahead_.first() <= now) {
      const HeldReservations::Held held = ahead_.pop();
      come_.push_back({held.job, held.at});
    }
    if (!come_.empty()) {
      std::inplace_merge(come_.begin(), come_.begin() + num_before, come_.end());
      walk(state, actions);
      for (Reservation& held : come_) settle(state, held);
      std::erase_if(come_, [](const Reservation& held) { return held.has_started; });
    }
    // What has come and did not start is tried again at the next event: nothing changes before.
    if (!ahead_.empty()) actions.wake(ahead_.first());
  }

  /// HeldReservations that have come before and wait on slide: they want their GPUs from now on,
  /// whenever one asks. Those that run stand, from their start.
  void settle(const State& state, Reservation& held) {
    const Time length = state.jobs().estimate(held.job);
    const int gpus = state.jobs().gpus(held.job);
    const bool starts_in_time = held.is_kept && held.at == state.now();
    if (held.has_started && starts_in_time) return;
    if (held.is_kept) profile_.take(held.at, held.at + length, -gpus);
    if (held.has_started) profile_.take(state.now(), state.now() + length, gpus);
    const bool slid = !held.is_kept;
    const bool slides = !held.has_started;
    if (slid != slides) profile_.slide(length, slides ? gpus : -gpus);
    held.is_kept = false;
  }

  void walk(const State& state, Actions& actions) {
    const JobClasses& classes = state.classes();
    JobId first = kNoJob;  // of those that wait on
    bool is_made = false;
    longest_.assign(classes.num_classes(), kNever);
    for (Reservation& held : come_) {
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
          if (!placement_->names_depend_on_job()) longest = head_.at() - state.now();
          continue;
        }
      }
      actions.start(job, allocation_);
      head_.start(state, job);
      held.has_started = true;
      // Other GPUs are free now: what stood in the way before may not any more.
      for (Time& any : longest_) {
        if (any > Time{0}) any = kNever;
      }
    }
  }

  Ref<Placement> placement_;
  Ref<const RunControl> control_;
  bool is_slow_ = false;
  HeldReservations ahead_;
  RuledOut ruled_out_;
  std::vector<Reservation> come_;  // by instant and JobId
  HeadReservation head_;
  std::vector<Time> longest_;  // of each class: who is longer cannot start now
  FreeProfile profile_;
  Allocation allocation_;
  bool has_gap_ = false;  // a reservation was given up since the last decision
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, Conservative, .name = "conservative",
                  .summary = "Conservative backfilling: every waiting job holds a reservation.",
                  .source = "Mu'alem, Feitelson, IEEE TPDS 12, 2001.", .flags = {Flag::estimate})

}  // namespace gpusched
