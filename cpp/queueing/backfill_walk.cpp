#include "queueing/backfill_walk.hpp"

#include <algorithm>
#include <vector>

namespace gpusched {

void BackfillWalk::begin(const JobTable& jobs, const JobClasses& classes) {
  classes_ = &classes;
  first_ = kNoJob;
  queue_.begin(jobs, classes);
  heads_.begin(classes);
  changed_.clear();
  limited_.clear();
}

void BackfillWalk::show(ClassId id, JobId job) {
  heads_.set(id, job == kNoJob ? kNoKeyedJob : KeyedJob::by_id(job),
             heads_.has_tree() ? queue_.shortest(id).count() : 0);
}

void BackfillWalk::show_first(ClassId id) {
  if (queue_.num_waiting(id) == 0) heads_.forget_refusal(id);
  show(id, queue_.first(id));
}

void BackfillWalk::add(JobId job) {
  if (queue_.empty() || job < first_) first_ = job;
  queue_.add(job);
  const ClassId id = classes_->of(job);
  const JobId head = heads_[id].job;
  // It may be shorter than all that wait.
  if (job < head || heads_.has_tree()) show(id, std::min(job, head));
}

void BackfillWalk::remove(JobId job) {
  queue_.remove(job);
  show_first(classes_->of(job));
  if (job == first_) first_ = heads_.top().job;
}

void BackfillWalk::begin_walk() {
  const ClassId id = classes_->of(first_);
  changed_.push_back(id);
  show(id, queue_.next(id, first_, kNever));
}

void BackfillWalk::pass_over(ClassId id, Time longest) {
  changed_.push_back(id);
  heads_.forget_refusal(id);
  if (longest != kNever) limited_.push_back(id);
  show(id, queue_.next(id, heads_[id].job, longest));
}

void BackfillWalk::start(ClassId id, std::int64_t spare) {
  const JobId job = heads_[id].job;
  queue_.remove(job);
  changed_.push_back(id);
  heads_.forget_refusal(id);
  show(id, queue_.next(id, job, kNever));
  // Other GPUs are free now: what was in the way before may not be any more.
  std::erase_if(limited_, [&](ClassId other) {
    if (heads_.is_closed(other)) return true;
    if (classes_->room(other) > spare) return false;
    if (other != id) show(other, queue_.next(other, job, kNever));
    return true;
  });
}

void BackfillWalk::end_walk() {
  heads_.reopen([this](ClassId id) { show_first(id); });
  for (const ClassId id : changed_) show_first(id);
  changed_.clear();
  limited_.clear();
}

}  // namespace gpusched
