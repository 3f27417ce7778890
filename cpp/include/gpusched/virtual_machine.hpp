#pragma once

#include <cstddef>
#include <limits>
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
    running_ = kNoJob;
    completion_ = kNobody;
    waiting_.clear();
    completed_.clear();
    clock_ = 0;
    total_completion_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return running_ == kNoJob; }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size() + (empty() ? 0 : 1); }
  /// The job with the least work left; kNoJob if there is none.
  [[nodiscard]] JobId running() const noexcept { return running_; }
  /// The first tick at or after the next completion, if no job is added before; kNever if empty.
  /// Past kMaxTicks it is the tick after that.
  [[nodiscard]] Time next_completion() const noexcept {
    if (empty()) return kNever;
    if (completion_ > static_cast<double>(kMaxTicks)) return Time{kMaxTicks} + kTick;
    return Time{ceil_ticks(completion_)};
  }
  /// Of the jobs that have completed, the sum of the instants.
  [[nodiscard]] double total_completion() const noexcept { return total_completion_; }

  /// Goes on to `to`, which must not lie before an earlier one; what has completed until then, in
  /// order, until the next call.
  std::span<const Completion> advance(Time to) {
    completed_.clear();
    clock_ = static_cast<double>(to.count());
    while (completion_ <= clock_) {
      const double at = completion_;
      completed_.push_back({running_, at});
      total_completion_ += at;
      running_ = kNoJob;
      completion_ = kNobody;
      if (waiting_.empty()) break;
      run(waiting_.top(), at);
      waiting_.pop();
    }
    return completed_;
  }

  /// A job comes at the instant that was reached last.
  void add(JobId job, double work) {
    const KeyedJob added{work, job};
    if (!empty()) {
      const KeyedJob present{left_ - (clock_ - since_), running_};
      if (present < added) {
        waiting_.push(added);
        return;
      }
      waiting_.push(present);
    }
    run(added, clock_);
  }

 private:
  static constexpr double kNobody = std::numeric_limits<double>::infinity();

  void run(KeyedJob job, double now) noexcept {
    running_ = job.job;
    left_ = job.key;
    since_ = now;
    completion_ = now + job.key;
  }

  JobId running_ = kNoJob;
  double left_ = 0;   // of the job that runs, at the instant `since_`: equals stay equal, which
  double since_ = 0;  // they would not if the work left were found from the completion
  double completion_ = kNobody;
  Heap<KeyedJob> waiting_;  // with the work they have left
  std::vector<Completion> completed_;
  double clock_ = 0;
  double total_completion_ = 0;
};

}  // namespace gpusched
