#pragma once

#include <cstdint>
#include <vector>

#include "base/heap.hpp"
#include "base/ids.hpp"
#include "listing/class_tree.hpp"
#include "listing/keyed_job.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// The waiting jobs, a queue for each class, so that what does not fit is passed over in one
/// step and not job by job. A class can be closed until it may fit again. Many classes are kept in
/// a tree, and who asks through it can leave out those that were refused and cannot fit yet.
class WaitingQueue {
 public:
  static constexpr KeyedJob kNone = kNoKeyedJob;

  void begin(const JobClasses& classes);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const JobClasses& classes() const noexcept { return *classes_; }

  void push(ClassId id, KeyedJob job) {
    queues_[id].push(job);
    ++size_;
    if (!is_closed_[id] && job < heads_[id]) {
      heads_[id] = job;
      if (has_tree()) [[unlikely]]
        tree_.update(id, leaves());
    }
  }

  /// The least job of an open class of the group that needs at most `widest` wholly free GPUs, or kNone.
  [[nodiscard]] KeyedJob least(const JobClasses::Group& group, std::int64_t widest,
                               ClassId& id) const noexcept {
    if (has_tree()) [[unlikely]]
      return least_in_tree(group, widest, id);
    KeyedJob best = kNone;
    for (ClassId at = group.begin; at < group.end && classes_->room(at) <= widest; ++at) {
      if (heads_[at] < best) {
        best = heads_[at];
        id = at;
      }
    }
    return best;
  }

  /// Whether there are so many classes that they are kept in a tree.
  [[nodiscard]] bool has_tree() const noexcept { return !tree_.empty(); }
  /// As the first, in the tree: of the classes that were refused only those that need at most
  /// `most` and for which `fits(id)` holds.
  template <class Fits>
  [[nodiscard]] KeyedJob least(const JobClasses::Group& group, const ClassTree::Most& most,
                               Fits fits, ClassId& id) const {
    return tree_.least(leaves(), group.begin, group.end, most, fits, id);
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

  /// The least job of the class, which is open, or kNone.
  [[nodiscard]] KeyedJob head(ClassId id) const noexcept { return heads_[id]; }
  /// Takes the class's least job out; the class is open.
  void pop(ClassId id) noexcept {
    queues_[id].pop();
    --size_;
    set_head(id);
  }

  void close(ClassId id) {
    is_closed_[id] = 1;
    heads_[id] = kNone;
    closed_.push_back(id);
    if (has_tree()) [[unlikely]]
      tree_.update(id, leaves());
  }
  /// Closes the class, and remembers until it is empty that it was refused.
  void refuse(ClassId id) {
    is_refused_[id] = 1;
    close(id);
  }

  void reopen() noexcept {
    for (const ClassId id : closed_) {
      is_closed_[id] = 0;
      set_head(id);
    }
    closed_.clear();
  }

  /// Takes the job out, wherever it stands; looks at all of its class.
  void remove(ClassId id, JobId job);
  /// Takes all jobs out, in no order, and opens all classes.
  std::vector<JobId> drain();

 private:
  [[nodiscard]] ClassTree::Leaves leaves() const noexcept { return {heads_, is_refused_}; }
  [[nodiscard]] KeyedJob least_in_tree(const JobClasses::Group& group, std::int64_t widest,
                                       ClassId& id) const noexcept;

  void set_head(ClassId id) noexcept {
    heads_[id] = queues_[id].empty() ? kNone : queues_[id].top();
    if (!has_tree()) [[likely]]
      return;
    if (queues_[id].empty()) is_refused_[id] = 0;
    tree_.update(id, leaves());
  }

  const JobClasses* classes_ = nullptr;
  std::vector<RunHeap<KeyedJob>> queues_;
  std::vector<KeyedJob> heads_;
  std::vector<char> is_closed_;
  std::vector<char> is_refused_;  // with a tree only
  ClassTree tree_;
  std::vector<ClassId> closed_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
