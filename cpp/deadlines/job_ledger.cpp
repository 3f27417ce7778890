#include "deadlines/job_ledger.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/check.hpp"
#include "deadlines/batch.hpp"
#include "deadlines/cost_bounds.hpp"

namespace gpusched {

void DancerLedger::begin(const Setup& setup) {
  planner.emplace(options, setup.state.gpus_up_by_type());
  sets.clear();
  control = &setup.control;
  jobs.clear();
  unused.clear();
  several.clear();
  index.assign(setup.state.jobs().num_jobs(), 0);
  live.clear();
  open.clear();
  rest = JobSet(setup.state.jobs().num_jobs());
  rest_running.clear();
  decisions.clear();
  num_broken = 0;
}

void DancerLedger::turn_to(Time now) {
  planner->advance(now);
  slot = planner->slot_of(now);
  is_border = options.slot * slot == now;
}

DancerLedger::Index DancerLedger::take_in(const State& state, JobId job) {
  if (unused.empty()) {
    unused.push_back(static_cast<Index>(jobs.size()));
    jobs.emplace_back();
  }
  const Index id = unused.back();
  unused.pop_back();
  index[job] = id;
  DancerJob& own = jobs[id];
  own.job = job;
  own.configurations = sets.of(state, job);
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
  return id;
}

void DancerLedger::log(const State& state, Index id, PlanVerdict verdict, double cost) {
  DancerJob& own = jobs[id];
  if (own.decision < 0) {
    own.decision = static_cast<std::int64_t>(decisions.size());
    decisions.emplace_back();
  }
  Decision& decision = decisions[static_cast<std::size_t>(own.decision)];
  const bool is_admitted = verdict == PlanVerdict::found;
  decision = {.job = own.job,
              .at = state.now(),
              .is_admitted = is_admitted,
              .cost = cost,
              .value = own.value,
              .payoff = is_admitted ? own.value - cost : 0.0,
              .reason = name_of(verdict)};
  if (verdict != PlanVerdict::too_dear && verdict != PlanVerdict::no_room) return;
  const Scarcity scarce = scarcest(*planner, own.query(state));
  decision.type = scarce.type;
  decision.from = std::max(state.now(), options.slot * scarce.begin);
  decision.until = options.slot * scarce.end;
}

void DancerLedger::make_promise(Index id, std::span<const PlanStep> steps) {
  DancerJob& own = jobs[id];
  own.steps.assign(steps.begin(), steps.end());
  own.promise = Promise::made;
  planner->promise({.configurations = own.configurations}, own.steps);
  live.push_back(id);
}

void DancerLedger::leave_open(Index id) {
  jobs[id].promise = Promise::open;
  open.push_back(id);
}

void DancerLedger::forget(std::span<const JobId> gone) {
  gone_.clear();
  for (const JobId job : gone) {
    const Index id = index[job];
    if (!take_out(id)) {
      throw InvariantError("dancer: job " + std::to_string(job) +
                           " leaves and is not where it should be");
    }
    jobs[id].steps.clear();
    unused.push_back(id);
  }
  if (forget_live() != gone_.size()) {
    throw InvariantError("dancer: jobs with promises leave and are not where they should be");
  }
}

/// Whether it was where it should be; one with a promise is then among `gone_`.
bool DancerLedger::take_out(Index id) {
  const DancerJob& own = jobs[id];
  switch (own.promise) {
    case Promise::made:
      planner->withdraw({.configurations = own.configurations}, own.steps);
      gone_.push_back(id);
      return true;
    case Promise::open:
      return std::erase(open, id) == 1;
    case Promise::none:
      return rest_running.erase(own.job) + (rest.erase(own.job) ? 1 : 0) == 1;
    case Promise::never:
      return several.erase(own.job) == 1;
  }
  return false;
}

/// Removes gone jobs in one pass over all with promises; returns their number.
std::size_t DancerLedger::forget_live() {
  if (gone_.empty()) return 0;
  if (gone_.size() == 1) return std::erase(live, gone_.front());
  is_gone_.resize(jobs.size(), 0);
  for (const Index id : gone_) is_gone_[id] = 1;
  const std::size_t count = std::erase_if(live, [&](Index id) { return is_gone_[id] != 0; });
  for (const Index id : gone_) is_gone_[id] = 0;
  return count;
}

void DancerLedger::lose_hope(Index id, bool is_running) {
  DancerJob& own = jobs[id];
  if (own.promise == Promise::made) {
    planner->withdraw({.configurations = own.configurations}, own.steps);
    std::erase(live, id);
    own.steps.clear();
    ++num_broken;
  }
  own.promise = Promise::none;
  if (is_running) {
    rest_running.insert(own.job);
  } else {
    rest.insert(own.job);
  }
}

}  // namespace gpusched
