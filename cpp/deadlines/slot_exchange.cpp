#include "deadlines/slot_exchange.hpp"

#include <algorithm>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

/// Jobs that may be asked to make room for one newcomer on a type, and how often it is tried.
constexpr std::size_t kMostCandidates = 8;
constexpr int kMostTries = 4;
/// Before all that are ranked by their GPUs.
constexpr double kAlone = -1e9;

const PlanConfiguration& at(const DancerJob& job, int configuration) noexcept {
  return job.configurations[static_cast<std::size_t>(configuration)];
}

}  // namespace

void SlotExchange::begin(DeadlinePlanner& planner, std::vector<DancerJob>& jobs,
                         const RunControl& control) {
  planner_ = &planner;
  jobs_ = &jobs;
  control_ = &control;
}

bool SlotExchange::make_room(const State& state, std::span<const Index> live, Index newcomer,
                             const Start& start, Actions& actions, std::vector<PlanStep>& steps,
                             double& cost) {
  const PlanQuery query = (*jobs_)[newcomer].query(state);
  find_ways(query);
  for (const Way& way : ways_) {
    find_candidates(state, live, way);
    if (make_room_on(state, query, start, actions, steps, cost)) return true;
  }
  return false;
}

/// On each type, the configuration that meets the deadline with the least GPU time; lowest first.
void SlotExchange::find_ways(const PlanQuery& query) {
  const Time length = query.deadline - query.now;
  ways_.clear();
  for (const PlanConfiguration& c : query.configurations) {
    if (Time{ceil_ticks(planner_->needed(query, 0.0) / c.rate)} > length) continue;
    const Way way{static_cast<double>(c.gpus) / c.rate, c.type, c.gpus};
    const auto known = std::find_if(ways_.begin(), ways_.end(),
                                    [&](const Way& other) { return other.type == way.type; });
    if (known == ways_.end()) {
      ways_.push_back(way);
    } else if (way.gpu_time < known->gpu_time) {
      *known = way;
    }
  }
  std::stable_sort(ways_.begin(), ways_.end(),
                   [](const Way& a, const Way& b) { return a.gpu_time < b.gpu_time; });
}

/// Jobs that have slack and use GPUs of the type in this slot: first those that suffice alone, by
/// increasing GPUs; then the others, by decreasing GPUs.
void SlotExchange::find_candidates(const State& state, std::span<const Index> live,
                                   const Way& way) {
  const Time slot = planner_->options().slot;
  candidates_.clear();
  for (const Index index : live) {
    const DancerJob& own = (*jobs_)[index];
    int gpus = 0;
    for (const int used : {own.held, configuration_at(own.steps, planner_->slot_of(state.now()))}) {
      if (used >= 0 && at(own, used).type == way.type) gpus = std::max(gpus, at(own, used).gpus);
    }
    if (gpus == 0) continue;
    if (state.is_running(own.job)) {
      const Slot& run = state.slot(own.job);
      if (run.is_suspended || run.start == state.now()) continue;
    }
    const Time left = own.deadline - next_multiple(state.now(), slot) - own.change;
    const double work = static_cast<double>(state.remaining(own.job).count());
    if (static_cast<double>(left.count()) * own.greatest_rate < work) continue;
    candidates_.emplace_back(gpus >= way.gpus ? kAlone + gpus : -gpus, index);
  }
  const auto is_later = [&](Index a, Index b) {
    const DancerJob& one = (*jobs_)[a];
    const DancerJob& other = (*jobs_)[b];
    return one.deadline != other.deadline ? one.deadline > other.deadline : one.job < other.job;
  };
  std::sort(candidates_.begin(), candidates_.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : is_later(a.second, b.second);
  });
  if (candidates_.size() > kMostCandidates) candidates_.resize(kMostCandidates);
}

bool SlotExchange::make_room_on(const State& state, const PlanQuery& query, const Start& start,
                                Actions& actions, std::vector<PlanStep>& steps, double& cost) {
  displaced_.clear();
  int tries = 0;
  for (const auto& [rank, index] : candidates_) {
    control_->check();
    const DancerJob& own = (*jobs_)[index];
    displaced_.push_back({index, -1, false, own.steps});
    planner_->withdraw({.configurations = own.configurations}, own.steps);
    if (!planner_->find_affordable(query, steps, cost)) continue;
    const int first = configuration_at(steps, planner_->slot_of(state.now()));
    if (first < 0 || tries++ == kMostTries) break;
    // Those that make room plan around it.
    planner_->promise(query, steps);
    const bool has_started = move(state, query.value - cost, actions) && start(first);
    planner_->withdraw(query, steps);
    if (has_started) return true;
    move_back(actions);
  }
  for (const Displaced& one : displaced_) {
    if (one.is_moved) continue;
    planner_->promise({.configurations = (*jobs_)[one.index].configurations}, one.steps);
  }
  return false;
}

/// Plans for all of displaced_ from the next slot on, if they cost less than `most` more; they
/// let their GPUs go.
bool SlotExchange::move(const State& state, double most, Actions& actions) {
  for (Displaced& one : displaced_) {
    if (one.is_moved) continue;
    DancerJob& own = (*jobs_)[one.index];
    const bool stops = state.is_running(own.job) && !state.slot(own.job).is_suspended;
    if (stops && state.slot(own.job).start == state.now()) return false;
    PlanQuery query = own.query(state);
    const double before = planner_->cost_of(query, one.steps);
    query.value = kInfinity;
    query.now = next_multiple(state.now(), planner_->options().slot);
    query.current = -1;
    query.pending = Time{0};
    double after = 0.0;
    if (planner_->find(query, steps_, after) != PlanVerdict::found) return false;
    most -= after - before;
    if (!(most > 0.0)) return false;
    planner_->promise(query, steps_);
    own.steps = steps_;
    one.held = std::exchange(own.held, -1);
    one.is_moved = true;
    if (stops) actions.suspend(own.job);
  }
  return true;
}

/// Undoes move(). If the GPUs of one job were taken in the meantime, all keep their new plans,
/// which use the room that the others left: mixed with an old plan, one might reserve a slot twice.
void SlotExchange::move_back(Actions& actions) {
  auto lost = displaced_.rbegin();
  for (; lost != displaced_.rend(); ++lost) {
    if (lost->held >= 0 && !actions.restore((*jobs_)[lost->index].job)) break;
  }
  if (lost != displaced_.rend()) {
    for (auto one = displaced_.rbegin(); one != lost; ++one) {
      if (one->held >= 0) actions.suspend((*jobs_)[one->index].job);
    }
    displaced_.clear();
    return;
  }
  for (Displaced& one : displaced_) {
    if (!one.is_moved) continue;
    DancerJob& own = (*jobs_)[one.index];
    planner_->withdraw({.configurations = own.configurations}, own.steps);
    own.steps = one.steps;
    own.held = std::exchange(one.held, -1);
    one.is_moved = false;
  }
}

}  // namespace gpusched
