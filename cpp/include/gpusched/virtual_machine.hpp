#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpusched/heap.hpp"
#include "gpusched/ids.hpp"
#include "gpusched/time.hpp"
#include "gpusched/waiting_queue.hpp"

namespace gpusched {

/// One machine of unit speed that always runs the job with the least work left; ties go to the
/// lower JobId. Work is in ticks, and jobs may complete between two ticks. What happens depends on
/// when jobs are added and not on how often the machine is looked at.
class VirtualMachine {
 public:
  struct Completion {
    JobId job;
    double at;
  };

  void clear() noexcept {
    running_ = WaitingQueue::kNone;
    waiting_.clear();
    completed_.clear();
    clock_ = 0;
    total_completion_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return running_.job == kNoJob; }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size() + (empty() ? 0 : 1); }
  /// The job with the least work left; kNoJob if there is none.
  [[nodiscard]] JobId running() const noexcept { return running_.job; }
  /// The first tick at or after the next completion, if no job is added before; kNever if empty.
  /// Past kMaxTicks it is the tick after that.
  [[nodiscard]] Time next_completion() const noexcept {
    if (empty()) return kNever;
    if (running_.key > static_cast<double>(kMaxTicks)) return Time{kMaxTicks} + kTick;
    return Time{ceil_ticks(running_.key)};
  }
  /// Of the jobs that have completed, the sum of the instants.
  [[nodiscard]] double total_completion() const noexcept { return total_completion_; }

  /// Goes on to `to`, which must not lie before an earlier one; what has completed until then, in
  /// order, until the next call.
  std::span<const Completion> advance(Time to) {
    completed_.clear();
    clock_ = static_cast<double>(to.count());
    while (running_.key <= clock_) {
      const double at = running_.key;
      completed_.push_back({running_.job, at});
      total_completion_ += at;
      running_ = WaitingQueue::kNone;
      if (waiting_.empty()) break;
      running_ = waiting_.top();
      running_.key += at;
      waiting_.pop();
    }
    return completed_;
  }

  /// A job comes at the instant that was reached last.
  void add(JobId job, double work) {
    const KeyedJob added{work, job};
    const KeyedJob present{running_.key - clock_, running_.job};
    if (present < added) {
      waiting_.push(added);
      return;
    }
    if (!empty()) waiting_.push(present);
    running_ = {clock_ + work, job};
  }

 private:
  KeyedJob running_ = WaitingQueue::kNone;  // with the instant at which it completes
  Heap<KeyedJob> waiting_;                  // with the work they have left
  std::vector<Completion> completed_;
  double clock_ = 0;
  double total_completion_ = 0;
};

}  // namespace gpusched
