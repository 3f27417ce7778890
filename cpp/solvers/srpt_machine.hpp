#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// One machine that does `speed` units of work per tick and always runs the job with the least
/// remaining work; ties go to the lower JobId. Work is integer and jobs may complete between two
/// ticks, so the clock counts units and only the next query tick is rounded. The result depends on
/// when jobs are added, not on how often the machine is queried.
class SrptMachine {
 public:
  /// 128 bits: 2^32 jobs of at most 2^62 ticks on 2^31 GPUs do not fill them.
  __extension__ typedef __int128 Work;

  /// At instant 0, without jobs. `speed` is at least 1.
  void begin(std::int64_t speed) {
    speed_ = speed;
    running_ = kNoJob;
    waiting_.clear();
    completed_.clear();
    clock_ = completion_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return running_ == kNoJob; }
  [[nodiscard]] std::size_t size() const noexcept { return waiting_.size() + (empty() ? 0 : 1); }
  /// The job with the least remaining work; kNoJob if there is none.
  [[nodiscard]] JobId running() const noexcept { return running_; }
  /// The first tick at or after the next completion, if no job is added before: later than the
  /// instant reached last. kNever if empty, kMaxTicks for all that lies beyond it.
  [[nodiscard]] Time next_completion() const noexcept {
    if (empty()) return kNever;
    const Work tick = (completion_ + speed_ - 1) / speed_;
    return Time{tick < kMaxTicks ? static_cast<std::int64_t>(tick) : kMaxTicks};
  }

  /// Advances to `to`, which must not be before an earlier one; returns the jobs completed by then,
  /// in order, valid until the next call.
  std::span<const JobId> advance(Time to) {
    completed_.clear();
    clock_ = Work{to.count()} * speed_;
    while (!empty() && completion_ <= clock_) {
      completed_.push_back(running_);
      running_ = kNoJob;
      if (waiting_.empty()) break;
      run(waiting_.top(), completion_);
      waiting_.pop();
    }
    return completed_;
  }

  /// At the instant that was reached last a job is taken back, whatever is left of it.
  void remove(JobId job) {
    if (job != running_) {
      waiting_.remove_if([&](const Waiting& known) { return known.job == job; });
      return;
    }
    running_ = kNoJob;
    if (waiting_.empty()) return;
    run(waiting_.top(), clock_);
    waiting_.pop();
  }

  /// A job comes at the instant that was reached last. `work` is at least 1.
  void add(JobId job, Work work) {
    const Waiting added{work, job};
    if (!empty()) {
      const Waiting present{completion_ - clock_, running_};
      if (present < added) {
        waiting_.push(added);
        return;
      }
      waiting_.push(present);
    }
    run(added, clock_);
  }

 private:
  struct Waiting {
    Work left;
    JobId job;

    friend bool operator<(const Waiting& a, const Waiting& b) noexcept {
      return a.left != b.left ? a.left < b.left : a.job < b.job;
    }
  };

  void run(const Waiting& job, Work now) noexcept {
    running_ = job.job;
    completion_ = now + job.left;
  }

  std::int64_t speed_ = 1;
  JobId running_ = kNoJob;
  Work completion_ = 0;  // of the job that runs
  Heap<Waiting> waiting_;
  std::vector<JobId> completed_;
  Work clock_ = 0;
};

}  // namespace gpusched
