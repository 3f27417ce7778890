#pragma once

#include <cstdint>
#include <vector>

#include "listing/backfill_queue.hpp"
#include "listing/class_tree.hpp"
#include "listing/keyed_job.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// Waiting jobs by arrival, and a walk over those behind the first, which passes over what cannot
/// start: of each class it keeps the next job that comes into question. Many classes are kept in a
/// tree.
class BackfillWalk {
 public:
  /// `jobs` and `classes` outlive the walk.
  void begin(const JobTable& jobs, const JobClasses& classes);

  [[nodiscard]] const BackfillQueue& queue() const noexcept { return queue_; }
  [[nodiscard]] bool has_tree() const noexcept { return !tree_.empty(); }
  /// The waiting job with the lowest JobId; kNoJob if there is none.
  [[nodiscard]] JobId first() const noexcept;
  void add(JobId job);
  void remove(JobId job);

  /// Begins behind the first.
  void depart(JobId first);
  /// The next job of the group that needs at most `widest` wholly free GPUs, or kNoJob.
  [[nodiscard]] JobId next(const JobClasses::Group& group, std::int64_t widest,
                           ClassId& id) const noexcept;
  /// As above, in the tree: of the classes those that `most` fits, as to CPU and memory only if
  /// they were refused, for which `fits(id)` then has to hold.
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
  BackfillQueue queue_;
  std::vector<KeyedJob> next_;  // the first job of each class where nobody walks
  std::vector<char> is_refused_;
  std::vector<char> is_closed_;
  std::vector<std::int64_t> shortest_;  // with a tree only
  ClassTree tree_;
  std::vector<ClassId> changed_;  // by the walk, some more than once
  std::vector<ClassId> limited_;  // of which long jobs are passed over
};

}  // namespace gpusched
