#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "base/heap.hpp"
#include "base/time.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// When running jobs that come nearer to limits are looked at next: floor(left / GPUs) seconds from
/// now, at least one, where what is left shrinks as they go on. Of those of one width the same one is
/// the first however late it is.
class FlooredCrossings {
 public:
  /// As above, from the instant at which so much is left.
  static Time crossing(Time from, Time left, int gpus) noexcept {
    const std::int64_t whole = left.count() / (std::int64_t{gpus} * kTicksPerSecond);
    return from + Time{std::max<std::int64_t>(whole, 1) * kTicksPerSecond};
  }

  /// A running job, what is left, and to which of its limits.
  void add(const State& state, JobId job, Time left, std::size_t limit) {
    const Slot& run = state.slot(job);
    const Time paid = run.start + run.cost;
    if (state.now() < paid) {
      paying_.push({crossing(paid, left, run.gpus), run.start, job, limit});
    } else {
      going_[run.gpus].push({state.now() + left, run.start, job, limit});
    }
  }

  /// Of all that run; kNever if there is none. A job was added again if by now it has paid its cost,
  /// or comes nearer to another limit: `limit_of(job)`.
  template <class LimitOf>
  [[nodiscard]] Time next(const State& state, LimitOf limit_of) {
    const auto drop_stale = [&](Heap<Watched>& heap, bool is_paying) {
      while (!heap.empty()) {
        const Watched& first = heap.top();
        if (state.is_running(first.job)) {
          const Slot& run = state.slot(first.job);
          const bool is_same = run.start == first.start && limit_of(first.job) == first.limit;
          if (is_same && (!is_paying || state.now() < run.start + run.cost)) return;
        }
        heap.pop();
      }
    };
    drop_stale(paying_, true);
    Time next = paying_.empty() ? kNever : paying_.top().at;
    for (auto& [gpus, going] : going_) {
      drop_stale(going, false);
      if (!going.empty())
        next = std::min(next, crossing(state.now(), going.top().at - state.now(), gpus));
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

  Heap<Watched> paying_;
  std::map<int, Heap<Watched>> going_;  // by width
};

}  // namespace gpusched
