#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "model/job_classes.hpp"
#include "queueing/class_heads.hpp"
#include "queueing/keyed_job.hpp"

namespace gpusched {

/// The waiting jobs, a queue for each class, so that what does not fit is passed over in one
/// step and not job by job. A class can be closed until it may fit again.
class WaitingQueue {
 public:
  static constexpr KeyedJob kNone = kNoKeyedJob;
  static constexpr std::int64_t kAnyWidth = std::numeric_limits<std::int64_t>::max();

  void begin(const JobClasses& classes) {
    queues_.assign(classes.num_classes(), {});
    heads_.begin(classes);
    size_ = 0;
  }

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const ClassHeads& heads() const noexcept { return heads_; }

  void push(ClassId id, KeyedJob job) {
    queues_[id].push(job);
    ++size_;
    if (!heads_.is_closed(id) && job < heads_[id]) heads_.set(id, job);
  }

  /// The lowest job of all open classes of at most `widest` GPUs, or kNone.
  [[nodiscard]] KeyedJob least(std::int64_t widest, ClassId& id) const noexcept {
    KeyedJob best = kNone;
    for (const auto& group : heads_.classes().groups()) {
      ClassId at = 0;
      const KeyedJob job = heads_.least(group, {widest}, at);
      if (job < best) {
        best = job;
        id = at;
      }
    }
    return best;
  }

  /// Takes the class's least job out; the class is open.
  void pop(ClassId id) noexcept {
    queues_[id].pop();
    --size_;
    show(id);
  }

  void close(ClassId id, bool is_refused = false) { heads_.close(id, is_refused); }
  void reopen() {
    heads_.reopen([this](ClassId id) { show(id); });
  }

  /// Removes the job, at any position; searches its whole class.
  void remove(ClassId id, JobId job) {
    if (remove_job(queues_[id], job)) --size_;
    show(id);
  }
  /// Takes all jobs out, in no order, and opens all classes.
  std::vector<JobId> drain() {
    std::vector<JobId> jobs;
    jobs.reserve(size_);
    for (auto& queue : queues_) {
      for (; !queue.empty(); queue.pop()) jobs.push_back(queue.top().job);
    }
    size_ = 0;
    heads_.clear();
    return jobs;
  }

 private:
  void show(ClassId id) noexcept {
    const bool is_empty = queues_[id].empty();
    if (is_empty) heads_.forget_refusal(id);
    heads_.set(id, is_empty ? kNone : queues_[id].top());
  }

  std::vector<RunHeap<KeyedJob>> queues_;
  ClassHeads heads_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
