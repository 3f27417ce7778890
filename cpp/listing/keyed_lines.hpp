#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "listing/class_tree.hpp"
#include "listing/keyed_job.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// The waiting jobs of each class by (key, JobId), and a walk over all of them in that order, in
/// which a class that cannot start is passed over in one step. Many classes are kept in a tree.
class KeyedLines {
 public:
  /// `classes` outlive this.
  void begin(const JobClasses& classes);

  void add(ClassId id, KeyedJob job);
  void remove(ClassId id, KeyedJob job);

  /// The next job, of the classes of each group that need at most so many wholly free GPUs, or
  /// kNoKeyedJob.
  [[nodiscard]] KeyedJob next(std::span<const std::int64_t> widest, ClassId& id) const;
  /// The class's next job is passed over.
  void pass(ClassId id);
  /// The rest of the class is passed over, until somebody starts.
  void hold(ClassId id);
  /// The rest of the class is passed over.
  void close(ClassId id);
  /// The next job, of that class, starts: it is taken out.
  void start(ClassId id);
  /// The walk ends, and the next one begins with the first job.
  void end_walk();

 private:
  using Line = std::set<KeyedJob>;

  [[nodiscard]] ClassTree::Leaves leaves() const noexcept { return {heads_, is_refused_}; }
  void set_head(ClassId id, KeyedJob head);
  void set_head(ClassId id, Line::const_iterator head) {
    set_head(id, head == lines_[id].end() ? kNoKeyedJob : *head);
  }

  const JobClasses* classes_ = nullptr;
  std::vector<Line> lines_;
  std::vector<KeyedJob> heads_;  // where the walk stands in each line
  std::vector<char> is_refused_;  // none is: the tree asks
  ClassTree tree_;
  std::vector<ClassId> moved_;  // by the walk, some more than once
  std::vector<ClassId> held_;
};

}  // namespace gpusched
