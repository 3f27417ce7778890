#include "listing/backfill_walk.hpp"

#include <algorithm>

namespace gpusched {

void BackfillWalk::begin(const JobTable& jobs, const JobClasses& classes) {
  classes_ = &classes;
  queue_.begin(jobs, classes);
  next_.assign(classes.num_classes(), kNoKeyedJob);
  is_refused_.assign(classes.num_classes(), 0);
  is_closed_.assign(classes.num_classes(), 0);
  tree_.begin(classes);
  shortest_.assign(has_tree() ? classes.num_classes() : 0, 0);
  changed_.clear();
  limited_.clear();
}

void BackfillWalk::set_next(ClassId id, JobId job) {
  next_[id] = job == kNoJob ? kNoKeyedJob : KeyedJob{0, job};
  if (!has_tree()) return;
  shortest_[id] = queue_.shortest(id).count();
  tree_.update(id, leaves());
}

JobId BackfillWalk::first() const noexcept {
  if (queue_.empty()) return kNoJob;
  if (has_tree()) return tree_.top().job;
  JobId least = kNoJob;
  for (const KeyedJob& next : next_) least = std::min(least, next.job);
  return least;
}

void BackfillWalk::add(JobId job) {
  queue_.add(job);
  const ClassId id = classes_->of(job);
  const bool is_first = next_[id].job == kNoJob;
  // It may be shorter than all that wait.
  if (is_first || has_tree()) set_next(id, is_first ? job : next_[id].job);
}

void BackfillWalk::remove(JobId job) {
  queue_.remove(job);
  const ClassId id = classes_->of(job);
  if (queue_.num_waiting(id) == 0) is_refused_[id] = 0;
  set_next(id, queue_.next(id, kNoJob, kNever));
}

void BackfillWalk::depart(JobId first) {
  const ClassId id = classes_->of(first);
  changed_.push_back(id);
  set_next(id, queue_.next(id, first, kNever));
}

JobId BackfillWalk::next(const JobClasses::Group& group, std::int64_t widest,
                         ClassId& id) const noexcept {
  if (has_tree()) {
    return next(group, ClassTree::Most{widest}, [](ClassId) { return true; }, id);
  }
  JobId least = kNoJob;
  ClassId its = group.begin;
  for (ClassId at = group.begin; at < group.end && classes_->room(at) <= widest; ++at) {
    const JobId job = next_[at].job;
    its = job < least ? at : its;
    least = std::min(least, job);
  }
  id = its;
  return least;
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
    set_next(id, queue_.next(id, kNoJob, kNever));
  }
  changed_.clear();
  limited_.clear();
}

}  // namespace gpusched
