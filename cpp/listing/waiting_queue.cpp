#include "listing/waiting_queue.hpp"

#include <utility>

#include "listing/job_removal.hpp"

namespace gpusched {

void WaitingQueue::begin(const JobClasses& classes) {
  classes_ = &classes;
  queues_.assign(classes.num_classes(), {});
  heads_.assign(classes.num_classes(), kNone);
  is_closed_.assign(classes.num_classes(), 0);
  tree_.begin(classes);
  is_refused_.assign(has_tree() ? classes.num_classes() : 0, 0);
  closed_.clear();
  size_ = 0;
}

std::vector<JobId> WaitingQueue::drain() {
  std::vector<JobId> jobs;
  jobs.reserve(size_);
  for (auto& queue : queues_) {
    for (; !queue.empty(); queue.pop()) jobs.push_back(queue.top().job);
  }
  size_ = 0;
  reopen();
  heads_.assign(heads_.size(), kNone);
  tree_.clear();
  return jobs;
}

void WaitingQueue::remove(ClassId id, JobId job) {
  if (remove_job(queues_[id], job)) --size_;
  set_head(id);
}

KeyedJob WaitingQueue::least_in_tree(const JobClasses::Group& group, std::int64_t widest,
                                     ClassId& id) const noexcept {
  const auto fits = [](ClassId) { return true; };
  return tree_.least(leaves(), group.begin, group.end, {widest}, fits, id);
}

}  // namespace gpusched
