#include "listing/list_scheduler.hpp"

#include <utility>

#include "base/clone.hpp"
#include "listing/prefetch.hpp"

namespace gpusched {

ListScheduler::ListScheduler(Owned<Order> order, const Parameters& parameters)
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
  remembers_refusals_ =
      queue_.has_tree() && setup.state.jobs().has_demands() && placement_->judges_servers_alone();
  gained_.settle(setup.state.occupancy());
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
    const KeyedJob job{keys_[i], jobs[i]};
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
  enqueue(state, jobs);
  return true;
}

void ListScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  if (is_strict_) {
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

KeyedJob ListScheduler::least_placeable(const State& state, ClassId& id) const {
  const Occupancy& free = state.occupancy();
  const JobClasses& classes = state.classes();
  const auto fits = [&](ClassId refused) {
    const int gpus = classes.gpus(refused);
    return gained_.can_host(free,
                            {classes.types(refused), gpus, false, *classes.demand(refused), gpus});
  };
  KeyedJob best = WaitingQueue::kNone;
  for (const auto& group : classes.groups()) {
    ClassId at = 0;
    const std::int64_t widest = placement_->widest(free, group.types);
    const KeyedJob head = remembers_refusals_
                              ? queue_.least(group, gained_.most(free, widest), fits, at)
                              : queue_.least(group, widest, at);
    if (head < best) {
      best = head;
      id = at;
    }
  }
  return best;
}

void ListScheduler::scan_skip(const State& state, Actions& actions) {
  const JobClasses& classes = state.classes();
  if (remembers_refusals_) gained_.collect(state.occupancy());
  // On a full cluster, where most decisions leave it, no class need be looked at.
  const auto is_full = [&, has_shares = state.jobs().has_shares()] {
    return state.occupancy().num_free() == 0 && !has_shares;
  };
  while (!queue_.empty() && !is_full()) {
    ClassId id = 0;
    const KeyedJob best = least_placeable(state, id);
    if (best.job == kNoJob) break;
    if (try_start(state, best.job, actions)) {
      queue_.pop(id);
      if (const JobId next = queue_.head(id).job; next != kNoJob) prefetch(state, next);
    } else if (remembers_refusals_ &&
               classes.gpus(id) <= state.cluster().largest_server(classes.types(id))) {
      queue_.refuse(id);
    } else {
      queue_.close(id);
    }
  }
  queue_.reopen();
  if (remembers_refusals_) gained_.settle(state.occupancy());
}

}  // namespace gpusched
