#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "gpusched/heap.hpp"
#include "gpusched/ids.hpp"
#include "gpusched/job_classes.hpp"

namespace gpusched {

/// A job and its key; ties go to the lower JobId.
struct KeyedJob {
  double key;
  JobId job;

  friend bool operator<(const KeyedJob& a, const KeyedJob& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  }
};

/// The waiting jobs, a queue for each class, so that what does not fit is passed over in one
/// step and not job by job. A class can be closed until it may fit again.
class WaitingQueue {
 public:
  static constexpr KeyedJob kNone{std::numeric_limits<double>::infinity(), kNoJob};

  void begin(const JobClasses& classes);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const JobClasses& classes() const noexcept { return *classes_; }

  void push(ClassId id, KeyedJob job) {
    queues_[id].push(job);
    ++size_;
    if (!is_closed_[id] && job < heads_[id]) heads_[id] = job;
  }

  /// The least job of an open class of the group that needs at most `widest` wholly free GPUs, or kNone.
  [[nodiscard]] KeyedJob least(const JobClasses::Group& group, std::int64_t widest,
                               ClassId& id) const noexcept {
    KeyedJob best = kNone;
    for (ClassId at = group.begin; at < group.end && classes_->room(at) <= widest; ++at) {
      if (heads_[at] < best) {
        best = heads_[at];
        id = at;
      }
    }
    return best;
  }

  /// The least job of all open classes at most `widest` wide, or kNone.
  [[nodiscard]] KeyedJob least(std::int64_t widest, ClassId& id) const noexcept {
    KeyedJob best = kNone;
    for (const auto& group : classes_->groups()) {
      ClassId at = 0;
      const KeyedJob job = least(group, widest, at);
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
    heads_[id] = queues_[id].empty() ? kNone : queues_[id].top();
  }

  void close(ClassId id) {
    is_closed_[id] = 1;
    heads_[id] = kNone;
    closed_.push_back(id);
  }

  void reopen() noexcept {
    for (const ClassId id : closed_) {
      is_closed_[id] = 0;
      heads_[id] = queues_[id].empty() ? kNone : queues_[id].top();
    }
    closed_.clear();
  }

  /// Takes all jobs out, in no order, and opens all classes.
  std::vector<JobId> drain();

 private:
  const JobClasses* classes_ = nullptr;
  std::vector<RunHeap<KeyedJob>> queues_;
  std::vector<KeyedJob> heads_;
  std::vector<char> is_closed_;
  std::vector<ClassId> closed_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
