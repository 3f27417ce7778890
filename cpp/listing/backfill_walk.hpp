#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "listing/backfill_queue.hpp"
#include "listing/class_tree.hpp"
#include "listing/keyed_job.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// Waiting jobs by arrival. Many classes are kept in a tree, and there is a walk over those behind
/// the first, which passes over what cannot start: of each class it keeps the next job that comes
/// into question.
class BackfillWalk {
 public:
  /// `jobs` and `classes` outlive the walk.
  void begin(const JobTable& jobs, const JobClasses& classes);

  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] bool has_tree() const noexcept { return !tree_.empty(); }
  /// The waiting job with the lowest JobId; kNoJob if there is none.
  [[nodiscard]] JobId first() const noexcept { return first_; }
  void add(JobId job);
  void remove(JobId job);
  /// Whether a job of the group waits that needs at most `widest` wholly free GPUs.
  [[nodiscard]] bool has_any(const JobClasses::Group& group, std::int64_t widest) const noexcept;

  /// The first waiting job of the class after `after` and before `before` whose estimate is at most
  /// `longest`; `before` if there is none. Nobody walks.
  [[nodiscard]] JobId next(ClassId id, JobId after, JobId before, Time longest) noexcept {
    if (!(next_[id].job < before)) return before;
    return std::min(before, queue_.next(id, after, longest));
  }

  /// The walk is for many classes. Begins behind the first.
  void depart(JobId first);
  /// The next job of the group, or kNoJob: of the classes those that `most` fits, as to CPU and
  /// memory only if they were refused, for which `fits(id)` then has to hold.
  template <class Fits>
  [[nodiscard]] JobId next(const JobClasses::Group& group, const ClassTree::Most& most, Fits fits,
                           ClassId& id) const {
    return tree_.least(leaves(), group.begin, group.end, most, fits, id).job;
  }
  /// Of the class none comes into question any more.
  void close(ClassId id);
  /// The same, and until it is empty it is known that it was refused.
  void refuse(ClassId id);
  /// The class's next job is passed over, though the placement may accept it, and so are those that
  /// run for longer than that, until somebody starts.
  void pass_over(ClassId id, Time longest);
  /// The class's next job has started. Jobs that need more than `spare` wholly free GPUs are passed
  /// over as before.
  void start(ClassId id, std::int64_t spare);
  /// Ends the walk.
  void arrive();

 private:
  [[nodiscard]] ClassTree::Leaves leaves() const noexcept {
    return {next_, is_refused_, shortest_};
  }
  void set_next(ClassId id, JobId job);

  const JobClasses* classes_ = nullptr;
  JobId first_ = kNoJob;
  BackfillQueue queue_;
  std::vector<KeyedJob> next_;  // the first job of each class where nobody walks
  // With a tree only.
  std::vector<char> is_refused_;
  std::vector<char> is_closed_;
  std::vector<std::int64_t> shortest_;
  ClassTree tree_;
  std::vector<ClassId> changed_;  // by the walk, some more than once
  std::vector<ClassId> limited_;  // of which long jobs are passed over
};

}  // namespace gpusched
