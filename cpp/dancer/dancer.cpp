#include "dancer/dancer.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "deadlines/batch.hpp"

namespace gpusched {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A plan that is cheaper by rounding alone is no reason to change.
constexpr double kCheaper = 1.0 - 1e-9;

}  // namespace

// Arrivals, promises and finishes.

void Dancer::receive(const State& state, std::span<const JobId> arrived, Actions& actions) {
  urgency_.clear();
  for (const JobId job : arrived) {
    const Index index = take_in(state, job);
    if (jobs_[index].promise == Promise::never) {
      several_.insert(job);
      if (jobs_[index].deadline == kNever) continue;
      log(state, index, PlanVerdict::unrunnable, kInfinity);
    } else if (jobs_[index].deadline == kNever) {
      rest_.insert(job);
    } else {
      urgency_.emplace_back(-value_density(jobs_[index].query(state)), index);
    }
  }
  std::stable_sort(urgency_.begin(), urgency_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [density, index] : urgency_) {
    control_->check();
    offer_first(state, index, actions);
  }
}

Dancer::Index Dancer::take_in(const State& state, JobId job) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<Index>(jobs_.size()));
    jobs_.emplace_back();
  }
  const Index index = unused_.back();
  unused_.pop_back();
  index_[job] = index;
  DancerJob& own = jobs_[index];
  own.job = job;
  own.configurations = sets_.of(state, job);
  own.deadline = state.jobs().deadline(job);
  own.change = state.jobs().restart_cost(job);
  own.value = state.jobs().value(job);
  own.greatest_rate = 0.0;
  int narrowest = std::numeric_limits<int>::max();
  for (const PlanConfiguration& c : own.configurations) {
    own.greatest_rate = std::max(own.greatest_rate, c.rate);
    narrowest = std::min(narrowest, c.gpus);
  }
  // Where all that it runs on is wider than its own width, it must get more all the same.
  own.asked = own.configurations.empty() ? 0 : std::max(state.jobs().gpus(job), narrowest);
  own.decision = -1;
  own.held = -1;
  own.promise = own.configurations.empty() ? Promise::never : Promise::none;
  return index;
}

void Dancer::offer_first(const State& state, Index index, Actions& actions) {
  PlanQuery query = jobs_[index].query(state);
  planner_->see(query);
  if (!is_border_ && !might_start(state, query)) {
    query.now = next_multiple(state.now(), options_.slot);
  }
  double cost = 0.0;
  PlanVerdict verdict = planner_->find(query, steps_, cost);
  const int first = verdict == PlanVerdict::found ? configuration_at(steps_, slot_) : -1;
  const bool starts_now = !is_border_ && first >= 0 && query.now == state.now();
  if (starts_now && !start_now(state, index, first, actions)) {
    query.now = next_multiple(state.now(), options_.slot);
    verdict = planner_->find(query, steps_, cost);
  }
  if (verdict != PlanVerdict::found && exchanges_ && !is_border_) {
    const auto begins = [&](int configuration) {
      return start_now(state, index, configuration, actions);
    };
    double room_cost = 0.0;
    if (exchange_.make_room(state, live_, index, begins, actions, steps_, room_cost)) {
      verdict = PlanVerdict::found;
      cost = room_cost;
    }
  }
  log(state, index, verdict, cost);
  if (verdict == PlanVerdict::found) {
    make_promise(index);
    return;
  }
  jobs_[index].promise = Promise::open;
  open_.push_back(index);
  if (!jobs_[index].is_in_time(state)) lose_hope(state, index);
}

bool Dancer::offer_again(const State& state, Index index) {
  const PlanQuery query = jobs_[index].query(state);
  double cost = 0.0;
  if (!planner_->find_affordable(query, steps_, cost)) return false;
  log(state, index, PlanVerdict::found, cost);
  make_promise(index);
  return true;
}

/// One entry for each job: what was said of it last, or when it was turned down first.
void Dancer::log(const State& state, Index index, PlanVerdict verdict, double cost) {
  DancerJob& own = jobs_[index];
  if (own.decision < 0) {
    own.decision = static_cast<std::int64_t>(decisions_.size());
    decisions_.emplace_back();
  }
  Decision& decision = decisions_[static_cast<std::size_t>(own.decision)];
  const bool is_admitted = verdict == PlanVerdict::found;
  decision = {.job = own.job,
              .at = state.now(),
              .is_admitted = is_admitted,
              .cost = cost,
              .value = own.value,
              .payoff = is_admitted ? own.value - cost : 0.0,
              .reason = name_of(verdict)};
  if (verdict != PlanVerdict::too_dear && verdict != PlanVerdict::no_room) return;
  const Scarcity scarce = scarcest(*planner_, own.query(state));
  decision.type = scarce.type;
  decision.from = std::max(state.now(), options_.slot * scarce.begin);
  decision.until = options_.slot * scarce.end;
}

void Dancer::make_promise(Index index) {
  DancerJob& own = jobs_[index];
  own.steps.assign(steps_.begin(), steps_.end());
  own.promise = Promise::made;
  planner_->promise({.configurations = own.configurations}, own.steps);
  live_.push_back(index);
}

void Dancer::forget(JobId job) {
  const Index index = index_[job];
  DancerJob& own = jobs_[index];
  std::size_t count = 0;
  switch (own.promise) {
    case Promise::made:
      planner_->withdraw({.configurations = own.configurations}, own.steps);
      count = std::erase(live_, index);
      break;
    case Promise::open: count = std::erase(open_, index); break;
    case Promise::none: count = rest_running_.erase(job); break;
    case Promise::never: count = several_.erase(job); break;
  }
  if (count != 1) {
    throw InvariantError("dancer: job " + std::to_string(job) +
                         " has finished and is not where it should be");
  }
  own.steps.clear();
  unused_.push_back(index);
}

/// The deadline cannot be met any more.
void Dancer::lose_hope(const State& state, Index index) {
  DancerJob& own = jobs_[index];
  if (own.promise == Promise::made) {
    planner_->withdraw({.configurations = own.configurations}, own.steps);
    std::erase(live_, index);
    own.steps.clear();
    ++num_broken_;
  } else {
    std::erase(open_, index);
  }
  own.promise = Promise::none;
  (state.is_running(own.job) ? rest_running_ : rest_).insert(own.job);
}

// The border of a slot.

void Dancer::begin_slot(const State& state, Actions& actions) {
  review(state);
  if (replans_) replan(state);
  sort_open(state);
  if (retries_) retry(state);
  hand_out(state);
  apply(state, actions);
}

void Dancer::review(const State& state) {
  for (std::size_t i = 0; i < live_.size();) {
    const Index index = live_[i];
    keep(state, index);
    if (i < live_.size() && live_[i] == index) ++i;
  }
}

/// What the job did beyond its plan shortens the plan; what it lacks is planned anew.
void Dancer::keep(const State& state, Index index) {
  DancerJob& own = jobs_[index];
  cut_until(own.steps, slot_);
  const PlanQuery query = own.query(state);
  steps_.assign(own.steps.begin(), own.steps.end());
  if (planner_->trim(query, steps_)) {
    if (steps_ == own.steps) return;
    planner_->withdraw(query, own.steps);
    own.steps.assign(steps_.begin(), steps_.end());
    planner_->promise(query, own.steps);
  } else if (!repair(query, own) && query.deadline <= query.now) {
    lose_hope(state, index);
  }
}

/// Whatever it costs.
bool Dancer::repair(const PlanQuery& query, DancerJob& job) {
  planner_->withdraw(query, job.steps);
  PlanQuery anything = query;
  anything.value = kInfinity;
  double cost = 0.0;
  const bool is_found = planner_->find(anything, steps_, cost) == PlanVerdict::found;
  if (is_found) job.steps.assign(steps_.begin(), steps_.end());
  planner_->promise(query, job.steps);
  return is_found;
}

void Dancer::replan(const State& state) {
  const auto count = std::min(live_.size(), static_cast<std::size_t>(num_replans_));
  for (std::size_t i = 0; i < count; ++i) {
    DancerJob& own = jobs_[live_[replan_turn_++ % live_.size()]];
    const PlanQuery query = own.query(state);
    planner_->withdraw(query, own.steps);
    double cost = 0.0;
    // Not by doing later what can be done now: nobody may want the GPUs of this slot.
    if (planner_->find_affordable(query, steps_, cost) &&
        cost < planner_->cost_of(query, own.steps) * kCheaper &&
        (own.steps.empty() || steps_.back().end <= own.steps.back().end) &&
        (configuration_at(own.steps, slot_) < 0 || configuration_at(steps_, slot_) >= 0)) {
      own.steps.assign(steps_.begin(), steps_.end());
    }
    planner_->promise(query, own.steps);
  }
}

void Dancer::sort_open(const State& state) {
  urgency_.clear();
  const std::vector<Index> all(open_);
  for (const Index index : all) {
    if (jobs_[index].is_in_time(state)) {
      urgency_.emplace_back(-value_density(jobs_[index].query(state)), index);
    } else {
      lose_hope(state, index);
    }
  }
  std::sort(urgency_.begin(), urgency_.end(), [&](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : jobs_[a.second].job < jobs_[b.second].job;
  });
  open_.clear();
  for (const auto& [density, index] : urgency_) open_.push_back(index);
}

void Dancer::retry(const State& state) {
  const std::vector<Index> all(open_);
  std::int64_t left = num_retries_;
  // Those that the last slots did not come to.
  std::size_t skipped = retry_turn_ < all.size() ? retry_turn_ : 0;
  retry_turn_ = 0;
  for (std::size_t i = skipped; i < all.size(); ++i) {
    control_->check();
    const PlanQuery query = jobs_[all[i]].query(state);
    if (!(least_cost(*planner_, query) < query.value)) continue;
    if (left-- == 0) {
      retry_turn_ = i;
      break;
    }
    if (offer_again(state, all[i])) std::erase(open_, all[i]);
  }
}

void Dancer::hand_out(const State& state) {
  spare_ = gpus_by_type(state);
  for (std::size_t type = 0; type < spare_.size(); ++type) {
    spare_[type] -= planner_->ledger().promised(static_cast<int>(type), slot_);
  }
  fill_.clear();
  filled_.clear();
  for (const Index index : live_) {
    const DancerJob& own = jobs_[index];
    const PlanQuery query = own.query(state);
    fill_.push_back({.query = query,
                     .worth = planner_->cost_of(query, own.steps),
                     .base = configuration_at(own.steps, slot_),
                     .next = configuration_at(own.steps, slot_ + 1)});
    fill_.back().chosen = fill_.back().base;
    filled_.push_back(index);
  }
  const std::size_t num_live = fill_.size();
  for (const Index index : open_) {
    fill_.push_back({.query = jobs_[index].query(state), .worth = jobs_[index].value});
    filled_.push_back(index);
  }
  // What saves a deadline comes before what hastens a job that will meet its own.
  const auto all = std::span(fill_);
  SlotFilling::rescue(all.subspan(num_live), spare_);
  if (fills_) {
    filling_.fill(all.first(num_live), spare_, options_.slot);
    filling_.fill(all.subspan(num_live), spare_, options_.slot);
  }
  hand_out_rest(state);
}

/// Those that run go on where their GPUs are left; then by arrival.
void Dancer::hand_out_rest(const State& state) {
  const auto give = [&](JobId job, std::int32_t configuration, const PlanQuery& query) {
    const auto& c = query.configurations[static_cast<std::size_t>(configuration)];
    spare_[static_cast<std::size_t>(c.type)] -= c.gpus;
    fill_.push_back({.query = query, .base = configuration, .chosen = configuration});
    filled_.push_back(index_[job]);
  };
  for (const JobId job : rest_running_) {
    const DancerJob& own = jobs_[index_[job]];
    const PlanQuery query = own.query(state);
    if (has_spare(query, own.held, -1, spare_)) give(job, own.held, query);
  }
  int misses = 0;
  for (auto job = rest_.begin(); job != rest_.end() && misses < kMaxFillMisses; ++job) {
    const DancerJob& own = jobs_[index_[*job]];
    const PlanQuery query = own.query(state);
    const int best = fastest_as_asked(query, own.asked, spare_);
    if (best < 0) {
      ++misses;
    } else {
      give(*job, best, query);
    }
  }
}

/// Whether the job keeps its promise if it is moved now and pays for it.
bool Dancer::may_move(const State& state, JobId job) {
  const DancerJob& own = jobs_[index_[job]];
  if (own.promise != Promise::made) return true;
  PlanQuery query = own.query(state);
  query.pending = query.change;
  return follow(query, own.steps, options_.slot, kInfinity).done >= planner_->needed(query, 0.0);
}

void Dancer::apply(const State& state, Actions& actions) {
  const bool is_pooled = state.occupancy().is_pooled();
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    if (fill_[i].chosen < 0) continue;
    const auto& c = fill_[i].query.configurations[static_cast<std::size_t>(fill_[i].chosen)];
    const std::array part{Part{is_pooled ? 0 : c.type, c.gpus}};
    reallocation_.add(jobs_[filled_[i]].job, part);
  }
  reallocation_.may_move = [&](JobId job) { return may_move(state, job); };
  reallocation_.may_stop = [&](JobId job) { return jobs_[index_[job]].promise != Promise::made; };
  reallocation_.apply(state, actions);
  for (const JobId job : rest_running_) jobs_[index_[job]].held = -1;
  rest_.insert(rest_running_.begin(), rest_running_.end());
  rest_running_.clear();
  const auto& refused = reallocation_.refused();
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    DancerJob& own = jobs_[filled_[i]];
    const bool is_refused = std::binary_search(refused.begin(), refused.end(), own.job);
    // What was refused goes on as before, or waits.
    const bool was_kept = is_refused && state.is_running(own.job);
    own.held = was_kept ? fill_[i].query.current : is_refused ? -1 : fill_[i].chosen;
    if (own.promise == Promise::none && own.held >= 0) {
      rest_.erase(own.job);
      rest_running_.insert(own.job);
    }
  }
}

}  // namespace gpusched
