#include "queueing/list_scheduler.hpp"

#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "queueing/prefetch.hpp"

namespace gpusched {

ListScheduler::ListScheduler(Owned<Order> order, const Parameters& parameters)
    : order_(std::move(order)),
      is_strict_(parameters.text("scan") == "strict"),
      is_clocked_(order_->lifetime() == KeyLifetime::clock),
      clears_(parameters.text("defrag") == "blocked"),
      patience_(parameters.seconds("patience_s")),
      is_guarded_(clears_ || patience_ > Time{0}) {}

std::vector<ParameterInfo> ListScheduler::parameters(bool strict) {
  return {{.name = "scan",
           .fallback = std::string(strict ? "strict" : "skip"),
           .help = "strict: stop at the first job that does not fit; skip: go on with later jobs",
           .choices = {"strict", "skip"}},
          {.name = "patience_s",
           .fallback = 0.0,
           .help =
               "seconds after its submission at which a waiting job goes before all others, and "
               "no other job starts until it has (0: never)",
           .minimum = 0,
           .maximum = 1e9},
          {.name = "defrag",
           .fallback = std::string("never"),
           .help =
               "blocked: where enough GPUs are free for a job but lie on the wrong servers, move "
               "running jobs if their restarts cost no more than its wait",
           .choices = {"never", "blocked"}}};
}

void ListScheduler::begin(const Setup& setup) {
  if (clears_ && setup.state.jobs().has_demands()) {
    fail_input("defrag=blocked: not supported for jobs with gpu_share, cpu or memory_gib");
  }
  placement_ = &setup.placement;
  seed_ = setup.seed;
  queue_.begin(setup.state.classes());
  line_.clear();
  waiting_.clear();
  placeable_.begin(setup, queue_.heads());
}

bool ListScheduler::try_start(const State& state, JobId job, Actions& actions) {
  const Request request = state.request(job);
  if (request.room() > state.occupancy().num_free()) return false;
  if (!placement_->place(state.occupancy(), request, allocation_)) return false;
  actions.start(job, allocation_);
  return true;
}

void ListScheduler::enqueue(const State& state, std::span<const JobId> jobs) {
  keys_.resize(jobs.size());
  order_->rank(QueueView(state, seed_), jobs, keys_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const KeyedJob job{keys_[i], jobs[i], state.jobs().precedence(jobs[i])};
    if (is_strict_) {
      line_.push(job);
    } else {
      queue_.push(state.classes().of(jobs[i]), job);
    }
  }
}

std::vector<JobId> ListScheduler::drain() {
  std::vector<JobId> jobs = queue_.drain();
  for (; !line_.empty(); line_.pop()) jobs.push_back(line_.top().job);
  return jobs;
}

void ListScheduler::rerank(const State& state) { enqueue(state, drain()); }

bool ListScheduler::withdraw(const State& state, JobId job) {
  std::vector<JobId> jobs = drain();
  std::erase(jobs, job);
  waiting_.erase(queued(state, job));
  enqueue(state, jobs);
  return true;
}

void ListScheduler::decide_guarded(const State& state, const Instant& instant, Actions& actions) {
  if (patience_ > Time{0}) {
    for (const JobId job : instant.arrived) waiting_.insert(queued(state, job));
  }
  enqueue(state, instant.arrived);
  if (is_clocked_) rerank(state);
  defragmentation_.begin_decision();
  if (start_overdue(state, actions)) start_others(state, actions);
  if (defragmentation_.retry() != kNever) actions.wake(defragmentation_.retry());
  const JobId next = first_waiting(state);
  if (next != kNoJob && end_of_patience(state, next) > state.now()) {
    actions.wake(end_of_patience(state, next));
  }
}

void ListScheduler::start_others(const State& state, Actions& actions) {
  if (is_strict_) {
    while (!line_.empty() && start_or_clear(state, line_.top().job, actions)) line_.pop();
    return;
  }
  ClassId id = 0;
  for (KeyedJob job = queue_.least(WaitingQueue::kAnyWidth, id); job.job != kNoJob;
       job = queue_.least(WaitingQueue::kAnyWidth, id)) {
    if (start_or_clear(state, job.job, actions)) {
      queue_.pop(id);
    } else {
      queue_.close(id);
    }
  }
  queue_.reopen();
}

/// Jobs whose patience has ended are those that were queued first. Returns whether all of them have
/// started.
bool ListScheduler::start_overdue(const State& state, Actions& actions) {
  for (JobId job = first_waiting(state); job != kNoJob; job = first_waiting(state)) {
    if (end_of_patience(state, job) > state.now()) break;
    if (!start_or_clear(state, job, actions)) return false;
    if (is_strict_) {
      remove_job(line_, job);
    } else {
      queue_.remove(state.classes().of(job), job);
    }
  }
  return true;
}

bool ListScheduler::start_or_clear(const State& state, JobId job, Actions& actions) {
  return try_start(state, job, actions) ||
         (clears_ && defragmentation_.start(state, *placement_, job, actions));
}

JobId ListScheduler::first_waiting(const State& state) {
  for (; !waiting_.empty(); waiting_.erase(waiting_.begin())) {
    const KeyedJob first = *waiting_.begin();
    // A job that was requeued since is in the set once more.
    const bool is_still = first.ordered_key == queued(state, first.job).ordered_key;
    if (is_still && state.is_waiting(first.job)) return first.job;
  }
  return kNoJob;
}

void ListScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  if (is_guarded_) [[unlikely]] {
    decide_guarded(state, instant, actions);
  } else if (is_strict_) {
    decide_strict(state, instant, actions);
  } else {
    decide_skip(state, instant, actions);
  }
}

void ListScheduler::decide_strict(const State& state, const Instant& instant, Actions& actions) {
  if (line_.empty() && instant.arrived.size() == 1) {
    if (!try_start(state, instant.arrived.front(), actions)) enqueue(state, instant.arrived);
    return;
  }
  const JobId blocked = line_.empty() ? kNoJob : line_.top().job;
  if (!instant.arrived.empty()) enqueue(state, instant.arrived);
  if (is_clocked_) rerank(state);
  // Without a release the head that was refused is refused again.
  if (!instant.has_released && !line_.empty() && line_.top().job == blocked) return;
  start_first(state, actions);
}

void ListScheduler::start_first(const State& state, Actions& actions) {
  for (; !line_.empty(); line_.pop()) {
    if (!try_start(state, line_.top().job, actions)) return;
  }
}

void ListScheduler::decide_skip(const State& state, const Instant& instant, Actions& actions) {
  const bool is_release = instant.has_released;
  if (queue_.empty() && instant.arrived.empty()) return;
  // Nothing that waits can fit unless GPUs were released: a lone arrival is judged alone.
  if (!is_release && instant.arrived.size() == 1) {
    if (!try_start(state, instant.arrived.front(), actions)) enqueue(state, instant.arrived);
    return;
  }
  if (!instant.arrived.empty()) enqueue(state, instant.arrived);
  if (is_clocked_ && is_release) rerank(state);
  scan_skip(state, actions);
}

void ListScheduler::scan_skip(const State& state, Actions& actions) {
  // On a full cluster, where most decisions leave it, no class need be looked at.
  const auto is_full = [&, has_shares = state.jobs().has_shares()] {
    return state.occupancy().num_free() == 0 && !has_shares;
  };
  if (!queue_.empty() && !is_full()) placeable_.begin_walk(state);
  while (!queue_.empty() && !is_full()) {
    ClassId id = 0;
    const KeyedJob best = placeable_.least(queue_.heads(), state, id);
    if (best.job == kNoJob) break;
    if (try_start(state, best.job, actions)) {
      queue_.pop(id);
      placeable_.measure(state);
      if (const JobId next = queue_.heads()[id].job; next != kNoJob) prefetch(state, next);
    } else {
      queue_.close(id, placeable_.refuses_alone(state, id));
    }
  }
  queue_.reopen();
  placeable_.end_walk(state);
}

}  // namespace gpusched
