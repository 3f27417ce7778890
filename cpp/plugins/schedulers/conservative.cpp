#include <algorithm>
#include <map>
#include <vector>

#include "base/registry.hpp"
#include "listing/head_reservation.hpp"
#include "listing/running_index.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {
namespace {

/// Free GPUs over time, as steps.
class Profile {
 public:
  void reset(std::int64_t num_gpus) {
    num_gpus_ = num_gpus;
    change_.clear();
  }

  /// Takes GPUs from `begin` until `end`, a later instant; a negative number gives them back.
  void take(Time begin, Time end, std::int64_t gpus) {
    add(begin, -gpus);
    add(end, gpus);
  }

  /// The first instant from `now` on with `gpus` free for `length`; now and the steps after it
  /// are looked at, which is where it must lie.
  [[nodiscard]] Time earliest(Time now, Time length, std::int64_t gpus) const {
    std::int64_t free = num_gpus_;
    Time start = now;
    auto step = change_.begin();
    for (; step != change_.end() && step->first <= now; ++step) free += step->second;
    if (free < gpus) start = kNever;
    for (; step != change_.end(); ++step) {
      if (start != kNever && step->first >= start + length) return start;
      free += step->second;
      if (free < gpus) {
        start = kNever;
      } else if (start == kNever) {
        start = step->first;
      }
    }
    return start;
  }

 private:
  void add(Time at, std::int64_t gpus) {
    const auto [step, is_new] = change_.try_emplace(at, gpus);
    if (is_new) return;
    step->second += gpus;
    if (step->second == 0) change_.erase(step);
  }

  std::int64_t num_gpus_ = 0;
  std::map<Time, std::int64_t> change_;
};

/// Every waiting job holds a reservation of a number of GPUs that no later job may delay. One
/// that has come and finds no place wants its GPUs from now on until it starts; the first of those
/// is promised servers, as the head of a line is under `easy`.
class Conservative final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    control_ = &setup.control;
    queue_.clear();
    running_.clear();
    head_.begin(setup);
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    const Time now = state.now();
    bool is_early = false;
    for (const JobId job : instant.finished) {
      const Time end = state.record(job).start + state.jobs().estimate(job);
      running_.erase(end, job);
      is_early = is_early || end > now;
    }
    if (queue_.empty() && instant.arrived.empty()) return;
    if (is_early || !instant.arrived.empty()) {
      fill_profile(state);
      if (is_early) move_up(state);
      for (const JobId job : instant.arrived) {
        control_->check();
        queue_.push_back({job, insert(state, job)});
      }
    }
    start_due(state, actions);
  }

 private:
  /// Once `at` has come it stays as it is, and says who is tried first.
  struct Reservation {
    JobId job;
    Time at;
  };

  void fill_profile(const State& state) {
    profile_.reset(state.cluster().num_gpus());
    running_.for_each([&](const RunningIndex::Entry& run) {
      profile_.take(state.now(), std::max(run.end, state.now() + kTick), run.gpus);
    });
    for (const Reservation& held : queue_) take(state, held, 1);
  }

  void take(const State& state, const Reservation& held, int sign) {
    const Time begin = std::max(held.at, state.now());
    profile_.take(begin, begin + state.jobs().estimate(held.job),
                  sign * state.jobs().gpus(held.job));
  }

  Time insert(const State& state, JobId job) {
    const Time length = state.jobs().estimate(job);
    const int gpus = state.jobs().gpus(job);
    const Time at = profile_.earliest(state.now(), length, gpus);
    profile_.take(at, at + length, gpus);
    return at;
  }

  void move_up(const State& state) {
    for (Reservation& held : queue_) {
      if (held.at <= state.now()) continue;
      control_->check();
      take(state, held, -1);
      held.at = std::min(held.at, profile_.earliest(state.now(), state.jobs().estimate(held.job),
                                                    state.jobs().gpus(held.job)));
      take(state, held, 1);
    }
  }

  void start_due(const State& state, Actions& actions) {
    due_.clear();
    for (Reservation& held : queue_) {
      if (held.at <= state.now()) due_.push_back(&held);
    }
    std::stable_sort(due_.begin(), due_.end(),
                     [](const Reservation* a, const Reservation* b) { return a->at < b->at; });
    walk(state, actions);
    std::erase_if(queue_, [](const Reservation& held) { return held.job == kNoJob; });
    // What has come and did not start is tried again at the next event: nothing changes before.
    Time next = kNever;
    for (const Reservation& held : queue_) {
      if (held.at > state.now()) next = std::min(next, held.at);
    }
    if (next != kNever) actions.wake(next);
  }

  void walk(const State& state, Actions& actions) {
    const JobClasses& classes = state.classes();
    JobId first = kNoJob;  // of those that wait on
    bool is_made = false;
    longest_.assign(classes.num_classes(), kNever);
    for (Reservation* held : due_) {
      if (state.occupancy().num_free() == 0 && !state.jobs().has_shares()) return;
      control_->check();
      const JobId job = held->job;
      const Time length = state.jobs().estimate(job);
      Time& longest = longest_[classes.of(job)];
      if (length > longest) continue;
      if (!placement_->place(state.occupancy(), state.request(job), allocation_)) {
        if (first == kNoJob) first = job;
        longest = Time{0};  // the class stays refused until GPUs are released
        continue;
      }
      if (first != kNoJob) {
        if (!is_made) head_.make(state, first, running_);
        is_made = true;
        if (!head_.admits(state, job, allocation_)) {
          if (!placement_->names_depend_on_job()) longest = head_.at() - state.now();
          continue;
        }
      }
      actions.start(job, allocation_);
      running_.insert({state.now() + length, job, allocation_.gpus});
      held->job = kNoJob;
      // Other GPUs are free now: what stood in the way before may not any more.
      for (Time& any : longest_) {
        if (any > Time{0}) any = kNever;
      }
    }
  }

  Placement* placement_ = nullptr;
  const RunControl* control_ = nullptr;
  std::vector<Reservation> queue_;  // by JobId
  RunningIndex running_;
  HeadReservation head_;
  std::vector<Reservation*> due_;
  std::vector<Time> longest_;  // of each class: who is longer cannot start now
  Profile profile_;
  Allocation allocation_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Conservative, .name = "conservative",
    .summary =
        "Conservative backfilling: every waiting job holds a reservation. O(queue) per event.",
    .source = "Mu'alem, Feitelson, IEEE TPDS 12, 2001.", .flags = {Flag::estimate})

}  // namespace gpusched
