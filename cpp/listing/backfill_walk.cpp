#include "listing/backfill_walk.hpp"

#include <algorithm>

namespace gpusched {

void BackfillWalk::begin(const JobTable& jobs, const JobClasses& classes) {
  classes_ = &classes;
  first_ = kNoJob;
  queue_.begin(jobs, classes);
  next_.assign(classes.num_classes(), kNoKeyedJob);
  tree_.begin(classes);
  const std::size_t num_leaves = has_tree() ? classes.num_classes() : 0;
  is_refused_.assign(num_leaves, 0);
  is_closed_.assign(num_leaves, 0);
  shortest_.assign(num_leaves, 0);
  changed_.clear();
  limited_.clear();
}

void BackfillWalk::set_next(ClassId id, JobId job) {
  next_[id] = job == kNoJob ? kNoKeyedJob : KeyedJob{0, job};
  if (!has_tree()) return;
  shortest_[id] = queue_.shortest(id).count();
  tree_.update(id, leaves());
}

void BackfillWalk::add(JobId job) {
  if (queue_.empty()) first_ = job;
  queue_.add(job);
  const ClassId id = classes_->of(job);
  const bool is_first = next_[id].job == kNoJob;
  // It may be shorter than all that wait.
  if (is_first || has_tree()) set_next(id, is_first ? job : next_[id].job);
}

void BackfillWalk::remove(JobId job) {
  queue_.remove(job);
  const ClassId id = classes_->of(job);
  if (has_tree() && queue_.num_waiting(id) == 0) is_refused_[id] = 0;
  set_next(id, queue_.first(id));
  if (job != first_) return;
  first_ = kNoJob;
  if (has_tree()) {
    first_ = tree_.top().job;
  } else {
    for (const KeyedJob& next : next_) first_ = std::min(first_, next.job);
  }
}

bool BackfillWalk::has_any(const JobClasses::Group& group, std::int64_t widest) const noexcept {
  if (has_tree()) {
    ClassId id = 0;
    return next(group, ClassTree::Most{widest}, [](ClassId) { return true; }, id) != kNoJob;
  }
  for (ClassId id = group.begin; id < group.end && classes_->room(id) <= widest; ++id) {
    if (next_[id].job != kNoJob) return true;
  }
  return false;
}

void BackfillWalk::depart(JobId first) {
  const ClassId id = classes_->of(first);
  changed_.push_back(id);
  set_next(id, queue_.next(id, first, kNever));
}

void BackfillWalk::close(ClassId id) {
  is_closed_[id] = 1;
  changed_.push_back(id);
  set_next(id, kNoJob);
}

void BackfillWalk::refuse(ClassId id) {
  is_refused_[id] = 1;
  close(id);
}

void BackfillWalk::pass_over(ClassId id, Time longest) {
  changed_.push_back(id);
  is_refused_[id] = 0;
  if (longest != kNever) limited_.push_back(id);
  set_next(id, queue_.next(id, next_[id].job, longest));
}

void BackfillWalk::start(ClassId id, std::int64_t spare) {
  const JobId job = next_[id].job;
  queue_.remove(job);
  changed_.push_back(id);
  is_refused_[id] = 0;
  set_next(id, queue_.next(id, job, kNever));
  // Other GPUs are free now: what was in the way before may not be any more.
  std::erase_if(limited_, [&](ClassId other) {
    if (is_closed_[other] != 0) return true;
    if (classes_->room(other) > spare) return false;
    if (other != id) set_next(other, queue_.next(other, job, kNever));
    return true;
  });
}

void BackfillWalk::arrive() {
  for (const ClassId id : changed_) {
    is_closed_[id] = 0;
    if (queue_.num_waiting(id) == 0) is_refused_[id] = 0;
    set_next(id, queue_.first(id));
  }
  changed_.clear();
  limited_.clear();
}

}  // namespace gpusched
