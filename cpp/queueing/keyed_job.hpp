#pragma once

#include <cstdint>
#include <limits>
#include <utility>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "base/ordered.hpp"

namespace gpusched {

/// A job and its key, and before these its precedence: the lower one goes first. Ties go to the
/// lower JobId.
class KeyedJob {
 public:
  constexpr KeyedJob(double key, JobId id, std::int32_t before_key = 0) noexcept
      : ordered_key(ordered(key)), job(id), precedence(before_key) {}

  /// In the order of JobIds: keys that differ are compared in fewer instructions.
  [[nodiscard]] static constexpr KeyedJob by_id(JobId id) noexcept {
    KeyedJob keyed{0, id};
    keyed.ordered_key = static_cast<std::int64_t>(id);
    return keyed;
  }
  [[nodiscard]] constexpr double key() const noexcept { return number_of(ordered_key); }

  friend bool operator<(const KeyedJob& a, const KeyedJob& b) noexcept {
    if (a.precedence != b.precedence) [[unlikely]]
      return a.precedence < b.precedence;
    return a.ordered_key != b.ordered_key ? a.ordered_key < b.ordered_key : a.job < b.job;
  }

  std::int64_t ordered_key;  ///< compares in fewer instructions than the number
  JobId job;
  std::int32_t precedence;
};

/// Comes after every job.
inline constexpr KeyedJob kNoKeyedJob{kInfinity, kNoJob, std::numeric_limits<std::int32_t>::max()};

/// Removes the job from the queue, at any position; returns whether it was there.
inline bool remove_job(RunHeap<KeyedJob>& queue, JobId job) {
  if (!queue.empty() && queue.top().job == job) {
    queue.pop();
    return true;
  }
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
