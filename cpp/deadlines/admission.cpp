#include "deadlines/admission.hpp"

#include <algorithm>

#include "base/infinity.hpp"
#include "deadlines/batch.hpp"
#include "deadlines/cost_bounds.hpp"

namespace gpusched {

void Admission::receive(const State& state, std::span<const JobId> arrived, Actions& actions) {
  urgency_.clear();
  for (const JobId job : arrived) {
    const Index index = book_->take_in(state, job);
    if (book_->jobs[index].promise == Promise::never) {
      book_->several.insert(job);
      if (book_->jobs[index].deadline == kNever) continue;
      book_->log(state, index, PlanVerdict::unrunnable, kInfinity);
    } else if (book_->jobs[index].deadline == kNever) {
      book_->rest.insert(job);
    } else {
      urgency_.emplace_back(-value_density(book_->jobs[index].query(state)), index);
    }
  }
  std::stable_sort(urgency_.begin(), urgency_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [density, index] : urgency_) {
    book_->control->check();
    offer_first(state, index, actions);
  }
}

void Admission::offer_first(const State& state, Index index, Actions& actions) {
  PlanQuery query = book_->jobs[index].query(state);
  book_->planner->see(query);
  if (!book_->is_border && !within_->might_start(state, query)) {
    query.now = next_multiple(state.now(), book_->options.slot);
  }
  double cost = 0.0;
  PlanVerdict verdict = book_->planner->find(query, steps_, cost);
  const int first = verdict == PlanVerdict::found ? configuration_at(steps_, book_->slot) : -1;
  const bool starts_now = !book_->is_border && first >= 0 && query.now == state.now();
  if (starts_now && !within_->start_now(state, index, first, actions)) {
    query.now = next_multiple(state.now(), book_->options.slot);
    verdict = book_->planner->find(query, steps_, cost);
  }
  if (verdict != PlanVerdict::found && exchanges_ && !book_->is_border) {
    const auto begins = [&](int configuration) {
      return within_->start_now(state, index, configuration, actions);
    };
    double room_cost = 0.0;
    if (exchange_.make_room(state, book_->live, index, begins, actions, steps_, room_cost)) {
      verdict = PlanVerdict::found;
      cost = room_cost;
    }
  }
  book_->log(state, index, verdict, cost);
  if (verdict == PlanVerdict::found) {
    book_->make_promise(index, steps_);
    return;
  }
  const DancerJob& own = book_->jobs[index];
  if (own.is_in_time(own.query(state))) {
    book_->leave_open(index);
  } else {
    book_->lose_hope(index, state.is_running(own.job));
  }
}

void Admission::offer_again(const State& state, Index index) {
  const PlanQuery query = book_->jobs[index].query(state);
  double cost = 0.0;
  if (!book_->planner->find_affordable(query, steps_, cost)) return;
  book_->log(state, index, PlanVerdict::found, cost);
  book_->make_promise(index, steps_);
}

}  // namespace gpusched
