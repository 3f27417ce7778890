#pragma once

#include <cstddef>
#include <vector>

#include "queueing/backfill_queue.hpp"
#include "queueing/class_heads.hpp"

namespace gpusched {

/// Waiting jobs by arrival, and a walk over those behind the first, which passes over what cannot
/// start: the head of each class is then the next job of it that comes into question.
class BackfillWalk {
 public:
  /// `jobs` and `classes` outlive the walk.
  void begin(const JobTable& jobs, const JobClasses& classes);

  [[nodiscard]] bool empty() const noexcept { return queue_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return queue_.size(); }
  [[nodiscard]] const ClassHeads& heads() const noexcept { return heads_; }
  /// The waiting job with the lowest JobId; kNoJob if there is none.
  [[nodiscard]] JobId first() const noexcept { return first_; }
  void add(JobId job);
  void remove(JobId job);

  /// Begins behind the first.
  void begin_walk();
  /// Excludes all jobs of the class from now on.
  void close(ClassId id, bool is_refused) { heads_.close(id, is_refused); }
  /// Skips the class's next job, although the placement may accept it, and all that run longer,
  /// until a job starts.
  void pass_over(ClassId id, Time longest);
  /// The class's next job has started. Jobs that need more than `spare` wholly free GPUs are passed
  /// over as before.
  void start(ClassId id, std::int64_t spare);
  void end_walk();

 private:
  void show(ClassId id, JobId job);
  void show_first(ClassId id);

  const JobClasses* classes_ = nullptr;
  JobId first_ = kNoJob;
  BackfillQueue queue_;
  ClassHeads heads_;
  std::vector<ClassId> changed_;  // by the walk, some more than once
  std::vector<ClassId> limited_;  // with longer jobs skipped
};

}  // namespace gpusched
