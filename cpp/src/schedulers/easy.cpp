#include <algorithm>
#include <optional>
#include <vector>

#include "gpusched/backfill_queue.hpp"
#include "gpusched/registry.hpp"
#include "gpusched/running_index.hpp"
#include "gpusched/scheduler.hpp"

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
    reserved_at_.reset(0);
    plan_.reset();
    if (!is_pooled_) plan_.emplace(setup.state.occupancy());
    reserved_.assign(static_cast<std::size_t>(setup.state.cluster().num_servers()), 0);
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
    const bool is_still = stands && is_settled_ && instant.finished.empty();
    if (is_pooled_) {
      if (!stands) reserve_pool(state, head);
      if (is_still) {
        for (const JobId job : instant.arrived) backfill_pool(state, job, actions);
      } else {
        is_settled_ = true;
        scan_pool(state, head, actions);
      }
      return;
    }
    if (is_still ? any_placeable(state, instant.arrived) : any_placeable(state)) {
      if (!stands) reserve_servers(state, head);
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
      if (state.now() + state.jobs().estimate(job) > reservation_) reserved_for_ = kNoJob;
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

  // One pool: the reservation is an instant and the GPUs left over at it.

  void reserve_pool(const State& state, JobId head) {
    const std::int64_t free = state.occupancy().num_free();
    const int gpus = state.jobs().gpus(head);
    std::int64_t before = 0;
    reservation_ = std::max(running_.reach(gpus - free, before)->end, state.now() + kTick);
    extra_ = free + running_.sum_until(reservation_) - gpus;
    reserved_for_ = head;
  }

  void backfill_pool(const State& state, JobId job, Actions& actions) {
    const int gpus = state.jobs().gpus(job);
    const bool is_short = state.now() + state.jobs().estimate(job) <= reservation_;
    if (gpus > state.occupancy().num_free() || (!is_short && gpus > extra_)) return;
    allocation_.reset(gpus);
    start(state, job, actions);
    if (!is_short) extra_ -= gpus;
  }

  void scan_pool(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    for (JobId after = head;;) {
      JobId best = kNoJob;
      for (ClassId id = 0; id < classes.num_classes(); ++id) {
        if (classes.gpus(id) > state.occupancy().num_free()) break;  // one group, by width
        const Time longest = classes.gpus(id) <= extra_ ? kNever : reservation_ - state.now();
        best = std::min(best, queue_.next(id, after, longest));
      }
      if (best == kNoJob) return;
      backfill_pool(state, best, actions);
      after = best;
    }
  }

  // Servers: the reservation is the head's placement once enough running jobs are gone.

  void reserve_servers(const State& state, JobId head) {
    for (const Piece& piece : reserved_at_.pieces) {
      reserved_[static_cast<std::size_t>(piece.server)] = 0;
    }
    reserved_at_.reset(0);
    reserved_for_ = head;
    Occupancy& plan = *plan_;
    plan = state.occupancy();
    const Time soonest = state.now() + kTick;
    reservation_ = kNever;
    Time at = kNever;
    bool is_found = false;
    const Request request = state.request(head);
    const auto look = [&] {
      if (placement_->widest(plan, request.types) < request.room()) return;
      is_found = placement_->place(plan, request, reserved_at_);
      if (is_found) reservation_ = at;
    };
    running_.for_each([&](const RunningIndex::Entry& entry) {
      if (is_found) return;
      const Time end = std::max(entry.end, soonest);
      if (at != kNever && end != at) look();
      if (is_found) return;
      at = end;
      const Slot& run = state.slot(entry.job);
      if (const Demand* demand = state.jobs().demand(entry.job)) {
        plan.release(run.gpus, run.pieces, *demand);
      } else {
        plan.release(run.gpus, run.pieces);
      }
    });
    if (!is_found) look();
    for (const Piece& piece : reserved_at_.pieces) {
      // Who asks for more than GPUs may lack CPU where the head's GPUs are left alone.
      reserved_[static_cast<std::size_t>(piece.server)] =
          state.jobs().has_demands() ? ~GpuMask{0} : piece.mask;
    }
  }

  [[nodiscard]] bool is_in_the_way() const {
    return std::any_of(allocation_.pieces.begin(), allocation_.pieces.end(),
                       [&](const Piece& piece) {
                         return (reserved_[static_cast<std::size_t>(piece.server)] & piece.mask) !=
                                0;
                       });
  }

  void scan_servers(const State& state, JobId head, Actions& actions) {
    const JobClasses& classes = state.classes();
    const Time longest = reservation_ == kNever ? kNever : reservation_ - state.now();
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
      } else if (state.jobs().estimate(job) <= longest || !is_in_the_way()) {
        start(state, job, actions);
        // Other GPUs are free now: what stood in the way before may not any more.
        limit_.assign(classes.num_classes(), kNever);
      } else if (!placement_->names_depend_on_job()) {
        limit_[best] = longest;
      }
    }
  }

  Placement* placement_ = nullptr;
  bool is_pooled_ = false;
  BackfillQueue queue_;
  RunningIndex running_;
  Allocation allocation_;
  Time reservation_ = kNever;
  JobId reserved_for_ = kNoJob;
  bool is_settled_ = false;  // nothing started since the whole queue was judged
  std::int64_t extra_ = 0;
  std::optional<Occupancy> plan_;
  Allocation reserved_at_;
  std::vector<GpuMask> reserved_;
  std::vector<Time> limit_;
  std::vector<char> is_closed_;
};

}  // namespace

GPUSCHED_REGISTER(Scheduler, Easy, .name = "easy",
                  .summary = "EASY backfilling: later jobs start if the head's start is unharmed.",
                  .source = "Lifka, The ANL/IBM SP Scheduling System, JSSPP 1995.",
                  .flags = {"estimate"})

}  // namespace gpusched
