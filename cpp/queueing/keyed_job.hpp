#pragma once

#include <utility>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"

namespace gpusched {

/// A job and its key; ties go to the lower JobId.
struct KeyedJob {
  double key;
  JobId job;

  friend bool operator<(const KeyedJob& a, const KeyedJob& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  }
};

/// Comes after every job.
inline constexpr KeyedJob kNoKeyedJob{kInfinity, kNoJob};

/// Removes the job from the queue, at any position; returns whether it was there.
inline bool remove_job(RunHeap<KeyedJob>& queue, JobId job) {
  RunHeap<KeyedJob> kept;
  bool is_found = false;
  for (; !queue.empty(); queue.pop()) {
    if (queue.top().job == job) {
      is_found = true;
    } else {
      kept.push(queue.top());
    }
  }
  queue = std::move(kept);
  return is_found;
}

}  // namespace gpusched
