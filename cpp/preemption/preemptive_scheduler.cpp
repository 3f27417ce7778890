#include "preemption/preemptive_scheduler.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/clone.hpp"

namespace gpusched {
namespace {

// Seconds, more than a day. While a longer cost is paid, a period of a minute would pass by for
// nothing tens of thousands of times.
constexpr double kMostRestart = 1e5;

RestartRule restart_rule_of(const Parameters& parameters) {
  RestartRule rule;
  rule.on_work = parameters.text("restart") == "work";
  rule.cost = parameters.seconds("cost_s");
  const double wide = parameters.number("wide_cost_s");
  rule.wide_cost = wide < 0 ? rule.cost : parameters.seconds("wide_cost_s");
  rule.narrow_gpus = static_cast<int>(parameters.integer("narrow_gpus"));
  rule.overrun = parameters.seconds("overrun_s");
  return rule;
}

}  // namespace

PreemptiveScheduler::PreemptiveScheduler(Owned<Order> order, const Parameters& parameters)
    : order_(std::move(order)),
      rule_(restart_rule_of(parameters)),
      lifetime_(order_->lifetime()),
      is_strict_(parameters.text("scan") == "strict"),
      holds_quota_(parameters.text("quota") == "hold"),
      displaces_(parameters.flag("displace")),
      is_periodic_(parameters.text("epoch") == "period"),
      period_(parameters.seconds("period_s")),
      least_run_(parameters.seconds("least_s")) {
  if (is_periodic_ && period_ <= Time{0}) {
    fail_input("parameter period_s: epoch=period needs a period above 0");
  }
}

std::vector<ParameterInfo> PreemptiveScheduler::parameters() {
  return {
      {.name = "scan",
       .fallback = std::string("skip"),
       .help = "strict: stop at the first job that exceeds the budget; skip: go on with later jobs",
       .choices = {"strict", "skip"}},
      {.name = "epoch",
       .fallback = std::string("event"),
       .help = "decide at events, or only at multiples of period_s",
       .choices = {"event", "period"}},
      {.name = "period_s",
       .fallback = 0.0,
       .help = "seconds between decisions; with epoch=event, also decide at its multiples while "
               "a job waits (0: do not)",
       .minimum = 0,
       .maximum = 1e9,
       .least_positive = 1e-3},
      {.name = "quota",
       .fallback = std::string("free"),
       .help = "hold: first preempt running jobs outside the budget, and do not fill gaps with "
               "later jobs",
       .choices = {"free", "hold"}},
      {.name = "displace",
       .fallback = false,
       .help = "a chosen job that does not fit may take GPUs of less urgent chosen jobs"},
      {.name = "restart",
       .fallback = std::string("time"),
       .help = "time: a resumed job makes no progress for the time of the cost; work: each "
               "preemption adds the cost to the remaining run time",
       .choices = {"time", "work"}},
      {.name = "cost_s",
       .fallback = 0.0,
       .help = "seconds added to the checkpoint and restart cost of each job",
       .minimum = 0,
       .maximum = kMostRestart},
      {.name = "wide_cost_s",
       .fallback = -1.0,
       .help = "the same seconds for jobs of more than narrow_gpus GPUs (-1: cost_s)",
       .minimum = -1,
       .maximum = kMostRestart},
      {.name = "narrow_gpus",
       .fallback = std::int64_t{8},
       .help = "largest job size (GPUs) that pays cost_s, not wide_cost_s",
       .minimum = 0,
       .maximum = 1e9},
      {.name = "overrun_s",
       .fallback = 0.0,
       .help = "extra seconds that every job runs beyond its run time",
       .minimum = 0,
       .maximum = kMostRestart},
      {.name = "least_s",
       .fallback = 0.0,
       .help = "seconds that a run lasts at least before another job may preempt it",
       .minimum = 0,
       .maximum = 1e9},
  };
}

/// Service in so much time at the job's own width, on the slowest GPUs.
Time PreemptiveScheduler::least_gain(const State& state, JobId job, Time time) const {
  if (state.speed().is_fixed()) return time;
  const IterationLimits limits = state.speed().limits(job);
  const double part = limits.low / limits.max;
  return Time{static_cast<std::int64_t>(static_cast<double>(time.count()) * part)};
}

/// Where the cost is held time a turn ends at the first multiple of the period after it is paid, so
/// that something is gained; but it can be next to nothing.
void PreemptiveScheduler::check_waste(const State& state) const {
  const bool is_bounded =
      !order_->has_crossings() && (state.speed().is_fixed() || !state.speed().uses_links());
  if (!is_bounded || period_ == Time{0}) return;
  const JobTable& jobs = state.jobs();
  for (JobId job = 0; job < jobs.num_jobs(); ++job) {
    const Time cost = jobs.restart_cost(job) + rule_.extra(jobs.gpus(job));
    if (cost == Time{0} || state.classes().of(job) == JobClasses::kNoClass ||
        !state.speed().can_run(job)) {
      continue;
    }
    const Time gain = std::max(kTick, least_gain(state, job, next_multiple(cost, period_) - cost));
    const auto most_turns = static_cast<std::int64_t>(Waste::kMostRows);
    if (cost / Waste::kMostLost <= gain || jobs.service(job) / most_turns <= gain) continue;
    fail_input(
        "period_s: job " + std::to_string(job) + " would pay " + std::to_string(cost.count()) +
        " us per turn and gain only " + std::to_string(gain.count()) + " us of its service of " +
        std::to_string(jobs.service(job).count()) + " us; lower its cost or lengthen period_s");
  }
}

void PreemptiveScheduler::check_progress(const State& state) const {
  if (!order_->takes_turns()) return;
  if (!rule_.on_work) {
    check_waste(state);
    return;
  }
  // Jobs that take turns each period must gain more in one than a preemption adds. Those that
  // take turns by promotion may gain as little as a tick, and where links are shared so may any
  // job.
  const JobTable& jobs = state.jobs();
  const bool is_bounded =
      !order_->has_crossings() && (state.speed().is_fixed() || !state.speed().uses_links());
  for (JobId job = 0; job < jobs.num_jobs(); ++job) {
    if (state.classes().of(job) == JobClasses::kNoClass || !state.speed().can_run(job)) continue;
    const Time gain = is_bounded ? least_gain(state, job, period_) : kTick;
    if (jobs.restart_cost(job) + rule_.extra(jobs.gpus(job)) < gain) continue;
    fail_input("restart=work: job " + std::to_string(job) +
               " would lose at each preemption at least what it gains between two, and never "
               "end; lower its cost, lengthen period_s or use restart=time");
  }
}

bool PreemptiveScheduler::is_due(const State& state) const {
  return state.now().count() % period_.count() == 0;
}

void PreemptiveScheduler::begin(const Setup& setup) {
  placement_ = &setup.placement;
  seed_ = setup.seed;
  queue_.begin(setup.state.classes());
  running_.clear();
  unranked_.clear();
  active_gpus_ = 0;
  check_progress(setup.state);
}

void PreemptiveScheduler::enqueue(const State& state, std::span<const JobId> jobs) {
  if (jobs.empty()) return;
  keys_.resize(jobs.size());
  order_->rank(QueueView(state, seed_), jobs, keys_);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    queue_.push(state.classes().of(jobs[i]), {keys_[i], jobs[i], state.jobs().precedence(jobs[i])});
  }
}

void PreemptiveScheduler::forget(std::span<const JobId> finished) {
  if (finished.empty()) return;
  std::erase_if(running_, [&](const KeyedJob& running) {
    return std::binary_search(finished.begin(), finished.end(), running.job);
  });
}

void PreemptiveScheduler::rank_running(const State& state) {
  jobs_.clear();
  for (const KeyedJob& running : running_) jobs_.push_back(running.job);
  keys_.resize(jobs_.size());
  if (!jobs_.empty()) order_->rank(QueueView(state, seed_), jobs_, keys_);
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    running_[i].ordered_key = ordered(keys_[i]);
    if (!keeps_young()) continue;
    const bool is_young = state.now() < state.slot(jobs_[i]).start + least_run_;
    running_[i].precedence = is_young ? kYoung : state.jobs().precedence(jobs_[i]);
  }
  // Keys mostly move together, and then the last decision's order is still valid.
  if (!std::is_sorted(running_.begin(), running_.end())) {
    std::sort(running_.begin(), running_.end());
  }
}

void PreemptiveScheduler::take_waiting(ClassId id, KeyedJob job) {
  taken_.push_back({job, id});
  queue_.pop(id);
}

void PreemptiveScheduler::choose(const State& state) {
  std::int64_t budget = state.gpus_up();
  ClassId id = 0;
  KeyedJob waiting = queue_.least(is_strict_ ? WaitingQueue::kAnyWidth : budget, id);
  std::size_t next = 0;
  while (budget > 0 && (waiting.job != kNoJob || next < running_.size())) {
    if (next < running_.size() && running_[next] < waiting) {
      const KeyedJob running = running_[next++];
      const int gpus = state.jobs().gpus(running.job);
      if (gpus <= budget) {
        kept_.push_back(running);
        budget -= gpus;
      } else {
        untaken_.push_back(running);
        if (is_strict_) break;
      }
    } else {
      const int gpus = state.classes().gpus(id);
      if (gpus > budget) break;  // strict alone looks at jobs that exceed the budget
      budget -= gpus;
      take_waiting(id, waiting);
      waiting = WaitingQueue::kNone;
    }
    const bool is_spent = waiting.job == kNoJob || state.classes().gpus(id) > budget;
    if (!is_strict_ && is_spent) waiting = queue_.least(budget, id);
    if (is_strict_ && waiting.job == kNoJob) waiting = queue_.least(WaitingQueue::kAnyWidth, id);
  }
  untaken_.insert(untaken_.end(), running_.begin() + static_cast<std::ptrdiff_t>(next),
                  running_.end());
}

bool PreemptiveScheduler::try_start(const State& state, JobId job, Actions& actions) {
  if (!placement_->place(state.occupancy(), state.request(job), allocation_)) return false;
  actions.start(job, allocation_);
  return true;
}

bool PreemptiveScheduler::try_displace(const State& state, const KeyedJob& job, Actions& actions) {
  const auto later = std::upper_bound(kept_.begin(), kept_.end(), job);
  for (auto kept = later; kept != kept_.end(); ++kept) actions.suspend(kept->job);
  const bool is_started = try_start(state, job.job, actions);
  auto still = later;
  for (auto kept = later; kept != kept_.end(); ++kept) {
    if (actions.restore(kept->job)) {
      *still++ = *kept;
    } else {
      preempted_.push_back(kept->job);
      actions.preempt(kept->job);
    }
  }
  kept_.erase(still, kept_.end());
  return is_started;
}

void PreemptiveScheduler::place_taken(const State& state, Actions& actions) {
  for (const Waiting& waiting : taken_) {
    if (try_start(state, waiting.job.job, actions) ||
        (displaces_ && try_displace(state, waiting.job, actions))) {
      started_.push_back(waiting.job);
    } else {
      refused_.push_back(waiting);
    }
  }
}

void PreemptiveScheduler::start_others(const State& state, Actions& actions) {
  // Shares may still fit where no GPU is wholly free.
  const bool has_shares = state.jobs().has_shares();
  while (!queue_.empty() && (has_shares || state.occupancy().num_free() > 0)) {
    ClassId id = 0;
    const KeyedJob job = queue_.least(state.occupancy().num_free(), id);
    if (job.job == kNoJob) break;
    if (try_start(state, job.job, actions)) {
      queue_.pop(id);
      started_.push_back(job);
    } else {
      queue_.close(id);
    }
  }
  queue_.reopen();
}

void PreemptiveScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  forget(instant.finished);
  for (const JobId job : instant.finished) active_gpus_ -= state.jobs().gpus(job);
  for (const JobId job : instant.arrived) active_gpus_ += state.jobs().gpus(job);
  unranked_.insert(unranked_.end(), instant.arrived.begin(), instant.arrived.end());
  const std::int64_t num_up = state.gpus_up();
  if (is_to_decide(state)) redistribute(state, actions);
  has_lost_gpus_ = state.gpus_up() < num_up;
  const Time crossing = order_->has_crossings() ? next_crossing(state) : kNever;
  ask_again(state, !queue_.empty() || !unranked_.empty(), crossing, actions);
}

void PreemptiveScheduler::take_over(const State& state, std::vector<JobId> waiting,
                                    std::span<const JobId> running) {
  unranked_ = std::move(waiting);
  running_.clear();
  active_gpus_ = 0;
  for (const JobId job : unranked_) active_gpus_ += state.jobs().gpus(job);
  for (const JobId job : running) {
    running_.push_back({0, job, state.jobs().precedence(job)});
    active_gpus_ += state.jobs().gpus(job);
  }
}

bool PreemptiveScheduler::adopt(const State& state) {
  std::vector<JobId> running;
  state.for_each_running([&](const Slot& run) { running.push_back(run.job); });
  take_over(state, {}, running);
  return !order_->remembers();
}

bool PreemptiveScheduler::withdraw(const State& state, JobId job) {
  if (std::erase(unranked_, job) == 0) queue_.remove(state.classes().of(job), job);
  active_gpus_ -= state.jobs().gpus(job);
  return true;
}

void PreemptiveScheduler::redistribute(const State& state, Actions& actions) {
  // If no job waits, all running jobs stay.
  if (queue_.empty() && unranked_.empty() && !order_->remembers()) return;
  if (lifetime_ == KeyLifetime::clock) {
    const std::vector<JobId> waiting = queue_.drain();
    unranked_.insert(unranked_.end(), waiting.begin(), waiting.end());
    std::sort(unranked_.begin(), unranked_.end());
  }
  enqueue(state, unranked_);
  unranked_.clear();
  if (active_gpus_ <= state.gpus_up() && !displaces_ && !order_->remembers()) {
    start_all(state, actions);
    return;
  }
  rank_running(state);
  taken_.clear();
  kept_.clear();
  untaken_.clear();
  started_.clear();
  refused_.clear();
  preempted_.clear();

  choose(state);
  const bool gives_way = !holds_quota_ && !state.occupancy().is_pooled();
  for (const KeyedJob& job : untaken_) {
    if (gives_way) {
      actions.suspend(job.job);
    } else {
      actions.preempt(job.job);
      preempted_.push_back(job.job);
    }
  }
  place_taken(state, actions);
  const std::size_t num_chosen = kept_.size();
  if (gives_way) {
    for (const KeyedJob& job : untaken_) {
      if (actions.restore(job.job)) {
        kept_.push_back(job);
      } else {
        actions.preempt(job.job);
        preempted_.push_back(job.job);
      }
    }
    start_others(state, actions);
  }
  for (const Waiting& waiting : refused_) queue_.push(waiting.id, waiting.job);
  std::sort(preempted_.begin(), preempted_.end());
  enqueue(state, preempted_);

  // Three sorted runs, but for the few that started last: the next decision finds them in order.
  running_.swap(kept_);
  std::inplace_merge(running_.begin(), running_.begin() + static_cast<std::ptrdiff_t>(num_chosen),
                     running_.end());
  std::sort(started_.begin(), started_.end());
  const auto middle = static_cast<std::ptrdiff_t>(running_.size());
  running_.insert(running_.end(), started_.begin(), started_.end());
  std::inplace_merge(running_.begin(), running_.begin() + middle, running_.end());
}

/// The budget covers all active jobs: all are selected, and none is preempted. Keys of running jobs
/// are for the next decision that needs them.
void PreemptiveScheduler::start_all(const State& state, Actions& actions) {
  refused_.clear();
  ClassId id = 0;
  for (KeyedJob job = queue_.least(WaitingQueue::kAnyWidth, id); job.job != kNoJob;
       job = queue_.least(WaitingQueue::kAnyWidth, id)) {
    queue_.pop(id);
    if (try_start(state, job.job, actions)) {
      running_.push_back(job);
    } else {
      refused_.push_back({job, id});
    }
  }
  for (const Waiting& waiting : refused_) queue_.push(waiting.id, waiting.job);
}

Time PreemptiveScheduler::next_crossing(const State& state) const {
  Time crossing = kNever;
  state.for_each_running([&](const Slot& slot) {
    crossing = std::min(crossing, order_->next_crossing(QueueView(state, seed_), slot.job));
  });
  return crossing;
}

/// The next instant from which a running job may be preempted that may not be now.
Time PreemptiveScheduler::end_of_youth(const State& state) const {
  Time next = kNever;
  state.for_each_running([&](const Slot& run) {
    const Time end = run.start + least_run_;
    if (end > state.now()) next = std::min(next, end);
  });
  return next;
}

void PreemptiveScheduler::ask_again(const State& state, bool waits, Time crossing,
                                    Actions& actions) const {
  const bool runs = state.num_running() > 0;
  // Once a decision has left nothing running, nothing can change before the next arrival, unless it
  // preempted jobs on a drained server, whose GPUs are down now.
  const bool is_undecided = waits && (has_lost_gpus_ || (is_periodic_ && !is_due(state)));
  if (!runs && !is_undecided) return;
  if (is_periodic_) {
    if (waits || runs) actions.wake(next_multiple(state.now(), period_));
    return;
  }
  if (waits && period_ > Time{0}) {
    actions.wake(next_multiple(state.now(), period_));
  } else if (waits && keeps_young() && !order_->takes_turns()) {
    // Turns may not be so short that they pay for nothing but restarts.
    actions.wake(end_of_youth(state));
  }
  if (crossing != kNever) actions.wake(crossing);
}

}  // namespace gpusched
