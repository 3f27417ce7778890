#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/heap.hpp"
#include "base/time.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// When running jobs that come nearer to limits are looked at next: floor(left / GPUs) seconds from
/// now, at least one, where what is left shrinks as they go on. Of those of one width the same one is
/// the first however late it is.
class FlooredCrossings {
 public:
  /// The same from the instant with this much left.
  static Time crossing(Time from, Time left, int gpus) noexcept {
    const std::int64_t whole = left.count() / (std::int64_t{gpus} * kTicksPerSecond);
    return from + Time{std::max<std::int64_t>(whole, 1) * kTicksPerSecond};
  }

  /// A running job, what is left, and to which of its limits.
  void add(const State& state, JobId job, Time left, std::size_t limit) {
    const Slot& run = state.slot(job);
    const Time paid = run.paid_at();
    if (state.now() < paid) {
      paying_.push({crossing(paid, left, run.gpus), run.start, job, limit});
    } else {
      going_of(run.gpus).push({state.now() + left, run.start, job, limit});
    }
  }

  /// Of all running jobs; kNever if there is none. A job is added again if it has since paid its
  /// cost, or approaches another limit: `limit_of(job)`.
  template <class LimitOf>
  [[nodiscard]] Time next(const State& state, LimitOf limit_of) {
    const Time now = state.now();
    const auto is_stale = [&](const Watched& watched) {
      return !state.is_running(watched.job) || state.slot(watched.job).start != watched.start ||
             limit_of(watched.job) != watched.limit;
    };
    const auto has_paid = [&](const Watched& watched) {
      const Slot& run = state.slot(watched.job);
      return run.paid_at() <= now;
    };
    for (; !paying_.empty(); paying_.pop()) {
      if (!is_stale(paying_.top()) && !has_paid(paying_.top())) break;
    }
    Time next = paying_.empty() ? kNever : paying_.top().at;
    for (Width& width : widths_) {
      // Entries behind the first, stale or not, are not earlier.
      for (; !width.going.empty(); width.going.pop()) {
        const Time at = crossing(now, width.going.top().at - now, width.gpus);
        if (at >= next) break;
        if (is_stale(width.going.top())) continue;
        next = at;
        break;
      }
    }
    return next;
  }

 private:
  /// When a job that pays is looked at; of others, when nothing would be left.
  struct Watched {
    Time at;
    Time start;
    JobId job;
    std::size_t limit;

    friend bool operator<(const Watched& a, const Watched& b) noexcept {
      return a.at != b.at ? a.at < b.at : a.job < b.job;
    }
  };
  struct Width {
    int gpus;
    Heap<Watched> going;
  };

  [[nodiscard]] Heap<Watched>& going_of(int gpus) {
    const auto at =
        std::lower_bound(widths_.begin(), widths_.end(), gpus,
                         [](const Width& width, int sought) { return width.gpus < sought; });
    if (at != widths_.end() && at->gpus == gpus) return at->going;
    return widths_.insert(at, {gpus, {}})->going;
  }

  Heap<Watched> paying_;
  std::vector<Width> widths_;  // ascending
};

}  // namespace gpusched
