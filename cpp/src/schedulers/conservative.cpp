#include <algorithm>
#include <map>
#include <vector>

#include "gpusched/registry.hpp"
#include "gpusched/scheduler.hpp"

namespace gpusched {
namespace {

/// Free GPUs over time, as steps.
class Profile {
 public:
  void reset(std::int64_t num_gpus) {
    num_gpus_ = num_gpus;
    change_.clear();
  }

  void take(Time begin, Time end, std::int64_t gpus) {
    if (begin >= end) return;
    add(begin, -gpus);
    add(end, gpus);
  }
  void give_back(Time begin, Time end, std::int64_t gpus) { take(begin, end, -gpus); }

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

/// Every waiting job holds a reservation that no later job may delay.
class Conservative final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    control_ = &setup.control;
    queue_.clear();
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    if (queue_.empty() && instant.arrived.empty()) return;
    const Time now = state.now();
    const bool is_early =
        std::any_of(instant.finished.begin(), instant.finished.end(), [&](JobId job) {
          return state.record(job).start + state.jobs().estimate(job) > now;
        });
    if (is_early || !instant.arrived.empty()) {
      fill_profile(state);
      if (is_early) move_up(state);
      for (const JobId job : instant.arrived) {
        control_->check();
        queue_.push_back({job, insert(state, job), false});
      }
    }
    start_due(state, actions);
  }

 private:
  struct Reservation {
    JobId job;
    Time at;
    bool is_deferred;
  };

  void fill_profile(const State& state) {
    profile_.reset(state.cluster().num_gpus());
    for (const Slot& slot : state.slots()) {
      if (!slot.is_busy()) continue;
      const Time end = slot.start + state.jobs().estimate(slot.job);
      profile_.take(state.now(), std::max(end, state.now() + kTick), slot.gpus);
    }
    for (const Reservation& held : queue_) take(state, held);
  }

  void take(const State& state, const Reservation& held) {
    profile_.take(held.at, held.at + state.jobs().estimate(held.job),
                  state.jobs().gpus(held.job));
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
      control_->check();
      const Time length = state.jobs().estimate(held.job);
      const int gpus = state.jobs().gpus(held.job);
      profile_.give_back(held.at, held.at + length, gpus);
      held.at = std::min(held.at, profile_.earliest(state.now(), length, gpus));
      take(state, held);
    }
  }

  void start_due(const State& state, Actions& actions) {
    const Time now = state.now();
    due_.clear();
    for (Reservation& held : queue_) {
      held.is_deferred = false;
      if (held.at <= now) due_.push_back(&held);
    }
    std::stable_sort(due_.begin(), due_.end(), [](const Reservation* a, const Reservation* b) {
      return a->at < b->at;
    });
    for (Reservation* held : due_) {
      if (placement_->place(state.occupancy(), state.request(held->job), allocation_)) {
        actions.start(held->job, allocation_);
        held->job = kNoJob;
      } else {
        held->at = now + kTick;
        held->is_deferred = true;
      }
    }
    std::erase_if(queue_, [](const Reservation& held) { return held.job == kNoJob; });
    // What was deferred is tried again at the next event: nothing changes before it.
    Time next = kNever;
    for (const Reservation& held : queue_) {
      if (!held.is_deferred) next = std::min(next, held.at);
    }
    if (next != kNever) actions.wake(next);
  }

  Placement* placement_ = nullptr;
  const RunControl* control_ = nullptr;
  std::vector<Reservation> queue_;
  std::vector<Reservation*> due_;
  Profile profile_;
  Allocation allocation_;
};

}  // namespace

GPUSCHED_REGISTER(
    Scheduler, Conservative, .name = "conservative",
    .summary = "Conservative backfilling: every waiting job holds a reservation. O(queue) per event.",
    .source = "Mu'alem, Feitelson, IEEE TPDS 12, 2001.", .flags = {"estimate"})

}  // namespace gpusched
