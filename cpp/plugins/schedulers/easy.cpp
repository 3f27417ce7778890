#include <algorithm>
#include <vector>

#include "base/clone.hpp"
#include "base/registry.hpp"
#include "listing/backfill_queue.hpp"
#include "listing/head_reservation.hpp"
#include "listing/running_index.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {
namespace {

/// Aggressive backfilling: the head of the line holds the one reservation, and a later job may
/// start now if it leaves that reservation alone.
class Easy final : public Scheduler {
 public:
  void begin(const Setup& setup) override {
    placement_ = &setup.placement;
    is_pooled_ = placement_->is_pooled();
    queue_.begin(setup.state.jobs(), setup.state.classes());
    running_.clear();
    reserved_for_ = kNoJob;
    is_settled_ = false;
    head_.begin(setup);
  }

  void decide(const State& state, const Instant& instant, Actions& actions) override {
    for (const JobId job : instant.finished) {
      const Time end = expected_end(state, job);
      running_.erase(end, job);
      if (end != state.now()) reserved_for_ = kNoJob;
    }
    for (const JobId job : instant.arrived) queue_.add(job);

    JobId head = queue_.first();
    while (head != kNoJob && try_start(state, head, actions)) head = queue_.first();
    if (head == kNoJob || queue_.size() == 1 || is_full(state)) return;
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
    if (is_still ? any_placeable(state, instant.arrived) : any_placeable(state)) {
      if (!stands) reserve(state, head);
      is_settled_ = true;
      scan_servers(state, is_still ? instant.arrived.front() - 1 : head, actions);
    } else {
      is_settled_ = true;
    }
  }

 private:
  [[nodiscard]] static Time expected_end(const State& state, JobId job) {
    return state.record(job).start + state.jobs().estimate(job);
  }

  [[nodiscard]] Time first_end() const {
    std::int64_t before = 0;
    const auto* entry = running_.reach(1, before);
    return entry == nullptr ? kNever : entry->end;
  }

  /// Shares may still fit where no GPU is wholly free.
  [[nodiscard]] static bool is_full(const State& state) {
    return state.occupancy().num_free() == 0 && !state.jobs().has_shares();
  }

  [[nodiscard]] bool any_placeable(const State& state, std::span<const JobId> jobs) const {
    return std::any_of(jobs.begin(), jobs.end(), [&](JobId job) {
      const Request request = state.request(job);
      return request.room() <= placement_->widest(state.occupancy(), request.types);
    });
  }

  [[nodiscard]] bool any_placeable(const State& state) const {
    const JobClasses& classes = state.classes();
    for (const auto& group : classes.groups()) {
      const std::int64_t widest = placement_->widest(state.occupancy(), group.types);
      for (ClassId id = group.begin; id < group.end && classes.room(id) <= widest; ++id) {
        if (queue_.num_waiting(id) > 0) return true;
      }
    }
    return false;
  }

  void start(const State& state, JobId job, Actions& actions) {
    // A pool's reservation counts with later ends (see backfill_pool). Among servers they may
    // move the head's placement, and any start the placement of who was passed over.
    if (!is_pooled_) {
      is_settled_ = false;
      if (state.now() + state.jobs().estimate(job) > head_.at()) reserved_for_ = kNoJob;
    }
    actions.start(job, allocation_);
    queue_.remove(job);
    running_.insert({state.now() + state.jobs().estimate(job), job, state.jobs().gpus(job)});
  }

  bool try_start(const State& state, JobId job, Actions& actions) {
    if (!placement_->place(state.occupancy(), state.request(job), allocation_)) return false;
    start(state, job, actions);
    return true;
  }

  void reserve(const State& state, JobId head) {
    head_.make(state, head, running_);
    reserved_for_ = head;
  }

  void backfill_pool(const State& state, JobId job, Actions& actions) {
    const int gpus = state.jobs().gpus(job);
    if (gpus > state.occupancy().num_free()) return;
    allocation_.reset(gpus);
    if (head_.admits(state, job, allocation_)) start(state, job, actions);
  }

  void scan_pool(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    for (JobId after = head;;) {
      JobId best = kNoJob;
      for (ClassId id = 0; id < classes.num_classes(); ++id) {
        if (classes.gpus(id) > state.occupancy().num_free()) break;  // one group, by width
        const Time longest = classes.gpus(id) <= head_.extra() ? kNever : head_.at() - state.now();
        best = std::min(best, queue_.next(id, after, longest));
      }
      if (best == kNoJob) return;
      backfill_pool(state, best, actions);
      after = best;
    }
  }

  void scan_servers(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    const Time longest = head_.at() == kNever ? kNever : head_.at() - state.now();
    limit_.assign(classes.num_classes(), kNever);
    is_closed_.assign(classes.num_classes(), 0);
    for (JobId after = head;;) {
      JobId job = kNoJob;
      ClassId best = 0;
      for (ClassId id = 0; id < classes.num_classes(); ++id) {
        if (is_closed_[id] != 0 || classes.room(id) > state.occupancy().num_free()) continue;
        const JobId next = queue_.next(id, after, limit_[id]);
        if (next < job) {
          job = next;
          best = id;
        }
      }
      if (job == kNoJob) return;
      after = job;
      if (!placement_->place(state.occupancy(), state.request(job), allocation_)) {
        is_closed_[best] = 1;
      } else if (head_.admits(state, job, allocation_)) {
        start(state, job, actions);
        // Other GPUs are free now: what stood in the way before may not any more.
        limit_.assign(classes.num_classes(), kNever);
      } else if (!placement_->names_depend_on_job()) {
        limit_[best] = longest;
      }
    }
  }

  Ref<Placement> placement_;
  bool is_pooled_ = false;
  BackfillQueue queue_;
  RunningIndex running_;
  Allocation allocation_;
  JobId reserved_for_ = kNoJob;
  bool is_settled_ = false;  // nothing started since the whole queue was judged
  HeadReservation head_;
  std::vector<Time> limit_;
  std::vector<char> is_closed_;
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, Easy, .name = "easy",
                  .summary = "EASY backfilling: later jobs start if the head's start is unharmed.",
                  .source = "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995.",
                  .flags = {Flag::estimate})

}  // namespace gpusched
