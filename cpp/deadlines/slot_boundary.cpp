#include "deadlines/slot_boundary.hpp"

#include <algorithm>
#include <array>

#include "base/infinity.hpp"
#include "deadlines/batch.hpp"
#include "deadlines/cost_bounds.hpp"
#include "seams/named.hpp"

namespace gpusched {
namespace {

/// A gain from rounding alone is no reason to change a plan.
constexpr double kCheaper = 1.0 - 1e-9;

}  // namespace

SlotBoundary::SlotBoundary(DancerLedger& book, Admission& admission, const Rules& rules)
    : book_(book),
      admission_(admission),
      rules_(rules),
      anywhere_(make_placement("best-fit", {})) {}

void SlotBoundary::begin(const Setup& setup) {
  reallocation_.begin(setup);
  anywhere_->begin({setup.seed, setup.state});
  reallocation_.last_resort = anywhere_.get();
  replan_turn_ = retry_turn_ = 0;
}

void SlotBoundary::pass(const State& state, Actions& actions) {
  review(state);
  if (rules_.replans) replan(state);
  sort_open(state);
  if (rules_.retries) retry(state);
  hand_out(state);
  apply(state, actions);
}

void SlotBoundary::review(const State& state) {
  for (std::size_t i = 0; i < book_->live.size();) {
    const Index index = book_->live[i];
    keep(state, index);
    if (i < book_->live.size() && book_->live[i] == index) ++i;
  }
}

/// Work beyond its plan shortens the plan of a job; missing work is replanned.
void SlotBoundary::keep(const State& state, Index index) {
  DancerJob& own = book_->jobs[index];
  cut_until(own.steps, book_->slot);
  const PlanQuery query = own.query(state);
  steps_.assign(own.steps.begin(), own.steps.end());
  if (book_->planner->trim(query, steps_)) {
    if (steps_ == own.steps) return;
    book_->planner->withdraw(query, own.steps);
    own.steps.assign(steps_.begin(), steps_.end());
    book_->planner->promise(query, own.steps);
  } else if (!repair(query, own) && query.deadline <= query.now) {
    book_->lose_hope(index, state.is_running(own.job));
  }
}

/// Whatever it costs.
bool SlotBoundary::repair(const PlanQuery& query, DancerJob& job) {
  book_->planner->withdraw(query, job.steps);
  PlanQuery anything = query;
  anything.value = kInfinity;
  double cost = 0.0;
  const bool is_found = book_->planner->find(anything, steps_, cost) == PlanVerdict::found;
  if (is_found) job.steps.assign(steps_.begin(), steps_.end());
  book_->planner->promise(query, job.steps);
  return is_found;
}

void SlotBoundary::replan(const State& state) {
  const auto count = std::min(book_->live.size(), static_cast<std::size_t>(rules_.num_replans));
  for (std::size_t i = 0; i < count; ++i) {
    DancerJob& own = book_->jobs[book_->live[replan_turn_++ % book_->live.size()]];
    const PlanQuery query = own.query(state);
    book_->planner->withdraw(query, own.steps);
    const double most = book_->planner->cost_of(query, own.steps) * kCheaper;
    double cost = 0.0;
    // Do not postpone work: the GPUs of this slot might otherwise stay idle.
    if (book_->planner->find_affordable(query, most, steps_, cost) && cost < most &&
        (own.steps.empty() || steps_.back().end <= own.steps.back().end) &&
        (configuration_at(own.steps, book_->slot) < 0 ||
         configuration_at(steps_, book_->slot) >= 0)) {
      own.steps.assign(steps_.begin(), steps_.end());
    }
    book_->planner->promise(query, own.steps);
  }
}

/// Forgets those that can no longer meet their deadlines; the others by the value for their work.
void SlotBoundary::sort_open(const State& state) {
  for (const Index index : book_->open) {
    DancerJob& own = book_->jobs[index];
    const PlanQuery query = own.query(state);
    own.density = value_density(query);
    if (!own.is_in_time(query)) book_->lose_hope(index, state.is_running(own.job));
  }
  keep_open();
  std::sort(book_->open.begin(), book_->open.end(), [&](Index a, Index b) {
    const DancerJob& one = book_->jobs[a];
    const DancerJob& other = book_->jobs[b];
    return one.density != other.density ? one.density > other.density : one.job < other.job;
  });
}

/// Only those that are still open.
void SlotBoundary::keep_open() {
  std::erase_if(book_->open,
                [&](Index index) { return book_->jobs[index].promise != Promise::open; });
}

void SlotBoundary::retry(const State& state) {
  std::int64_t left = rules_.num_retries;
  // Jobs not reached in the last slots come first.
  std::size_t next = retry_turn_ < book_->open.size() ? retry_turn_ : 0;
  retry_turn_ = 0;
  for (; next < book_->open.size(); ++next) {
    book_->control->check();
    const Index index = book_->open[next];
    const PlanQuery query = book_->jobs[index].query(state);
    if (!(least_cost(*book_->planner, query) < query.value)) continue;
    if (left-- == 0) {
      retry_turn_ = next;
      break;
    }
    admission_->offer_again(state, index);
  }
  keep_open();
}

void SlotBoundary::hand_out(const State& state) {
  spare_ = state.gpus_up_by_type();
  for (std::size_t type = 0; type < spare_.size(); ++type) {
    spare_[type] -= book_->planner->ledger().promised(static_cast<int>(type), book_->slot);
  }
  fill_.clear();
  filled_.clear();
  for (const Index index : book_->live) {
    const DancerJob& own = book_->jobs[index];
    const PlanQuery query = own.query(state);
    fill_.push_back({.query = query,
                     .worth = book_->planner->cost_of(query, own.steps),
                     .base = configuration_at(own.steps, book_->slot),
                     .next = configuration_at(own.steps, book_->slot + 1)});
    fill_.back().chosen = fill_.back().base;
    filled_.push_back(index);
  }
  const std::size_t num_live = fill_.size();
  for (const Index index : book_->open) {
    const DancerJob& own = book_->jobs[index];
    fill_.push_back({.query = own.query(state), .worth = own.value});
    filled_.push_back(index);
  }
  const std::span live = std::span(fill_).first(num_live);
  const std::span open = std::span(fill_).subspan(num_live);
  // Saving a deadline takes precedence over speeding up a job that meets its own.
  SlotFilling::rescue(open, spare_);
  if (rules_.fills) {
    filling_.fill(live, spare_, book_->options.slot);
    filling_.fill(open, spare_, book_->options.slot);
  }
  hand_out_rest(state);
}

/// Running jobs continue if their GPUs are left; then by arrival.
void SlotBoundary::hand_out_rest(const State& state) {
  const auto give = [&](JobId job, std::int32_t configuration, const PlanQuery& query) {
    const auto& c = query.configurations[static_cast<std::size_t>(configuration)];
    spare_[static_cast<std::size_t>(c.type)] -= c.gpus;
    fill_.push_back({.query = query, .base = configuration, .chosen = configuration});
    filled_.push_back(book_->index[job]);
  };
  for (const JobId job : book_->rest_running) {
    const DancerJob& own = book_->jobs[book_->index[job]];
    const PlanQuery query = own.query(state);
    if (has_spare(query, own.held, -1, spare_)) give(job, own.held, query);
  }
  first_waiting_ = fill_.size();
  int misses = 0;
  for (JobId job = book_->rest.at_or_after(0); job != kNoJob && misses < kMaxFillMisses;
       job = book_->rest.at_or_after(job + 1)) {
    const DancerJob& own = book_->jobs[book_->index[job]];
    const PlanQuery query = own.query(state);
    const int best = fastest_as_asked(query, own.asked, spare_);
    if (best < 0) {
      ++misses;
    } else {
      give(job, best, query);
    }
  }
}

/// Whether the job keeps its promise if it is moved now and pays for it.
bool SlotBoundary::may_move(const State& state, JobId job) {
  const DancerJob& own = book_->jobs[book_->index[job]];
  if (own.promise != Promise::made) return true;
  PlanQuery query = own.query(state);
  query.pending = query.change;
  return book_->planner->keeps(query, own.steps);
}

void SlotBoundary::apply(const State& state, Actions& actions) {
  const bool is_pooled = state.occupancy().is_pooled();
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    if (fill_[i].chosen < 0) continue;
    const auto& c = fill_[i].query.configurations[static_cast<std::size_t>(fill_[i].chosen)];
    const std::array part{Part{is_pooled ? 0 : c.type, c.gpus}};
    reallocation_.add(book_->jobs[filled_[i]].job, part);
  }
  reallocation_.may_move = [&](JobId job) { return may_move(state, job); };
  reallocation_.may_stop = [&](JobId job) {
    return book_->jobs[book_->index[job]].promise != Promise::made;
  };
  reallocation_.apply(state, actions);
  for (const JobId job : book_->rest_running) book_->jobs[book_->index[job]].held = -1;
  const auto& refused = reallocation_.refused();
  for (std::size_t i = 0; i < fill_.size(); ++i) {
    DancerJob& own = book_->jobs[filled_[i]];
    const bool is_refused = std::binary_search(refused.begin(), refused.end(), own.job);
    // What was refused goes on as before, or waits.
    const bool was_kept = is_refused && state.is_running(own.job);
    own.held = was_kept ? fill_[i].query.current : is_refused ? -1 : fill_[i].chosen;
    if (i < first_waiting_ || own.held < 0) continue;
    book_->rest_running.insert(own.job);
    book_->rest.erase(own.job);
  }
  sort_out_stopped();
}

/// Jobs that ran without a promise and do not continue go back to waiting.
void SlotBoundary::sort_out_stopped() {
  for (auto job = book_->rest_running.begin(); job != book_->rest_running.end();) {
    if (book_->jobs[book_->index[*job]].held >= 0) {
      ++job;
    } else {
      book_->rest.insert(*job);
      job = book_->rest_running.erase(job);
    }
  }
}

}  // namespace gpusched
