#pragma once

#include <utility>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "listing/keyed_job.hpp"

namespace gpusched {

/// Takes the job out of the queue, wherever it stands; whether it was there.
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
