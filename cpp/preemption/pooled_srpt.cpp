#include "preemption/pooled_srpt.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpusched {

void PooledSrpt::begin(const Setup& setup) {
  num_gpus_ = setup.state.gpus_up();
  const std::size_t num_classes = setup.state.classes().num_classes();
  waiting_.assign(num_classes, {});
  retry_at_.assign(num_classes, 0);
  running_.clear();
  num_waiting_ = 0;
  num_released_ = 0;
}

void PooledSrpt::push(const State& state, JobId job, Time remaining) {
  const ClassId id = state.classes().of(job);
  auto& queue = waiting_[id];
  const Waiting entry{remaining, job};
  if (queue.empty() || entry < queue.top()) retry_at_[id] = 0;
  queue.push(entry);
  ++num_waiting_;
}

bool PooledSrpt::fits(const State& state, int gpus, const Waiting& job) const {
  // Whatever runs after it in key order would have to give way.
  const std::int64_t free = num_gpus_ - running_.total();
  const std::int64_t need = gpus - free;
  return need <= 0 || need <= running_.sum_from(state.now() + job.remaining, job.job, need);
}

void PooledSrpt::admit(const State& state, ClassId id) {
  const Waiting job = waiting_[id].top();
  waiting_[id].pop();
  --num_waiting_;
  retry_at_[id] = 0;
  running_.insert({state.now() + job.remaining, job.job, state.classes().gpus(id)});
  started_.push_back(job.job);
}

void PooledSrpt::evict(const State& state) {
  while (running_.total() > num_gpus_) {
    // The first that has no room behind those before it: near the end, as few are too many.
    const RunningIndex::Entry entry = running_.reach_from_back(running_.total() - num_gpus_);
    running_.erase(entry.end, entry.job);
    num_released_ += entry.gpus;
    evicted_.push_back(entry.job);
    push(state, entry.job, entry.end - state.now());
  }
}

void PooledSrpt::settle(const State& state) {
  const JobClasses& classes = state.classes();
  for (;;) {
    Waiting best{kNever, kNoJob};
    ClassId best_id = 0;
    for (ClassId id = 0; id < waiting_.size(); ++id) {
      if (waiting_[id].empty() || num_released_ < retry_at_[id]) continue;
      const Waiting& head = waiting_[id].top();
      if (!(head < best)) continue;
      const int gpus = classes.gpus(id);
      if (fits(state, gpus, head)) {
        best = head;
        best_id = id;
        continue;
      }
      const std::int64_t free = num_gpus_ - running_.total();
      const std::int64_t within = free + running_.sum_from(state.now() + head.remaining, head.job);
      retry_at_[id] = num_released_ + gpus - within;
    }
    if (best.job == kNoJob) return;
    admit(state, best_id);
    evict(state);
  }
}

/// A job that gave way to one and came back when another did never stopped.
void PooledSrpt::forget_returned() {
  if (evicted_.empty()) return;
  returned_.clear();
  for (const JobId job : started_) returned_.push_back({job, false});
  std::sort(returned_.begin(), returned_.end());
  const auto find = [&](JobId job) {
    return std::lower_bound(returned_.begin(), returned_.end(), Returned{job, false});
  };
  std::erase_if(evicted_, [&](JobId job) {
    const auto found = find(job);
    return found != returned_.end() && found->job == job && !std::exchange(found->has_stayed, true);
  });
  std::erase_if(started_, [&](JobId job) { return find(job)->has_stayed; });
}

bool PooledSrpt::withdraw(const State& state, JobId job) {
  const ClassId id = state.classes().of(job);
  Heap<Waiting> kept;
  for (auto& queue = waiting_[id]; !queue.empty(); queue.pop()) {
    if (queue.top().job != job) kept.push(queue.top());
  }
  waiting_[id] = std::move(kept);
  retry_at_[id] = 0;  // another may be the first
  --num_waiting_;
  return true;
}

void PooledSrpt::decide(const State& state, const Instant& instant, Actions& actions) {
  for (const JobId job : instant.finished) {
    // No job has started in its slot since; a preempted job would have run on.
    running_.erase(state.slots()[state.record(job).slot].work_end, job);
    num_released_ += state.jobs().gpus(job);
  }
  if (instant.arrived.empty() && num_waiting_ == 0) return;
  if (instant.finished.empty() && instant.arrived.size() == 1) {
    // A lone newcomer that finds free GPUs changes nothing for the others.
    const JobId job = instant.arrived.front();
    const int gpus = state.jobs().gpus(job);
    if (gpus <= num_gpus_ - running_.total()) {
      running_.insert({state.now() + state.true_remaining(job), job, gpus});
      allocation_.reset(gpus);
      actions.start(job, allocation_);
      return;
    }
  }
  // Not all of its service is left of a job that ran under the policy before.
  for (const JobId job : instant.arrived) push(state, job, state.true_remaining(job));
  started_.clear();
  evicted_.clear();
  settle(state);
  forget_returned();
  for (const JobId job : evicted_) actions.preempt(job);
  for (const JobId job : started_) {
    allocation_.reset(state.jobs().gpus(job));
    actions.start(job, allocation_);
  }
}

}  // namespace gpusched
