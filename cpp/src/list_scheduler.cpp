#include "gpusched/list_scheduler.hpp"

#include <utility>

namespace gpusched {

ListScheduler::ListScheduler(std::unique_ptr<Order> order, const Parameters& parameters)
    : order_(std::move(order)),
      is_strict_(parameters.text("scan") == "strict"),
      is_clocked_(order_->lifetime() == KeyLifetime::clock) {}

std::vector<ParameterInfo> ListScheduler::parameters(bool strict) {
  return {{.name = "scan",
           .fallback = std::string(strict ? "strict" : "skip"),
           .help = "strict stops at the first job that cannot be placed, skip goes on",
           .choices = {"strict", "skip"}}};
}

void ListScheduler::begin(const Setup& setup) {
  placement_ = &setup.placement;
  seed_ = setup.seed;
  queue_.begin(setup.state.classes());
  line_.clear();
}

bool ListScheduler::try_start(const State& state, JobId job, Actions& actions) {
  if (!placement_->place(state.occupancy(), state.request(job), allocation_)) return false;
  actions.start(job, allocation_);
  return true;
}

void ListScheduler::enqueue(const State& state, std::span<const JobId> jobs) {
  keys_.resize(jobs.size());
  order_->rank(QueueView(state, seed_), jobs, keys_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const KeyedJob job{keys_[i], jobs[i]};
    if (is_strict_) {
      line_.push(job);
    } else {
      queue_.push(state.classes().of(jobs[i]), job);
    }
  }
}

void ListScheduler::rerank(const State& state) {
  std::vector<JobId> jobs = queue_.drain();
  for (; !line_.empty(); line_.pop()) jobs.push_back(line_.top().job);
  enqueue(state, jobs);
}

void ListScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  if (is_strict_) {
    decide_strict(state, instant, actions);
  } else {
    decide_skip(state, instant, actions);
  }
}

void ListScheduler::decide_strict(const State& state, const Instant& instant, Actions& actions) {
  const JobId blocked = line_.empty() ? kNoJob : line_.top().job;
  if (!instant.arrived.empty()) enqueue(state, instant.arrived);
  if (is_clocked_) rerank(state);
  // Without a release the head that was refused is refused again.
  if (instant.finished.empty() && !line_.empty() && line_.top().job == blocked) return;
  for (; !line_.empty(); line_.pop()) {
    if (!try_start(state, line_.top().job, actions)) return;
  }
}

void ListScheduler::decide_skip(const State& state, const Instant& instant, Actions& actions) {
  const bool is_release = !instant.finished.empty();
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
  const auto groups = state.classes().groups();
  while (!queue_.empty()) {
    KeyedJob best = WaitingQueue::kNone;
    ClassId id = 0;
    for (const auto& group : groups) {
      ClassId at = 0;
      const std::int64_t widest = placement_->widest(state.occupancy(), group.types);
      const KeyedJob head = queue_.least(group, widest, at);
      if (head < best) {
        best = head;
        id = at;
      }
    }
    if (best.job == kNoJob) break;
    if (try_start(state, best.job, actions)) {
      queue_.pop(id);
    } else {
      queue_.close(id);
    }
  }
  queue_.reopen();
}

}  // namespace gpusched
