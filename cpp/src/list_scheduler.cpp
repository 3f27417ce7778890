#include "gpusched/list_scheduler.hpp"

#include <limits>
#include <utility>

namespace gpusched {
namespace {

constexpr std::int64_t kAnyWidth = std::numeric_limits<std::int64_t>::max();

}  // namespace

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
    queue_.push(state.classes().of(jobs[i]), {keys_[i], jobs[i]});
  }
}

void ListScheduler::rerank(const State& state) {
  const std::vector<JobId> jobs = queue_.drain();
  enqueue(state, jobs);
}

void ListScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  const bool is_release = !instant.finished.empty();
  if (queue_.empty() && instant.arrived.empty()) return;
  // Nothing that waits can fit unless GPUs were released: a lone arrival is judged alone.
  if (!is_release && instant.arrived.size() == 1 && (!is_strict_ || queue_.empty())) {
    const JobId job = instant.arrived.front();
    const bool may_fit = placement_->widest(state.occupancy(), state.request(job).types) >=
                         state.jobs().gpus(job);
    if (!may_fit || !try_start(state, job, actions)) enqueue(state, instant.arrived);
    return;
  }
  if (!instant.arrived.empty()) enqueue(state, instant.arrived);
  if (is_clocked_ && (is_release || is_strict_)) rerank(state);
  if (is_strict_) {
    scan_strict(state, actions);
  } else {
    scan_skip(state, actions);
  }
}

void ListScheduler::scan_strict(const State& state, Actions& actions) {
  ClassId id = 0;
  while (!queue_.empty()) {
    const KeyedJob head = queue_.least(kAnyWidth, id);
    if (!try_start(state, head.job, actions)) return;
    queue_.pop(id);
  }
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
