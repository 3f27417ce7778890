#include "deadlines/plan.hpp"

#include <algorithm>

namespace gpusched {

PlanOutcome follow(const PlanQuery& query, std::span<const PlanStep> steps, Time slot,
                   double enough) {
  PlanOutcome outcome;
  int current = query.current;
  Time pending = query.pending;
  Time reached = query.now;  // until here `current` has run
  bool is_fresh = query.is_fresh;
  for (const PlanStep& step : steps) {
    const Time begin = std::max(query.now, slot * step.begin);
    const Time end = std::min(query.deadline, slot * step.end);
    outcome.end = step.end;
    if (end <= begin) continue;
    if (step.configuration != current || begin != reached) {
      pending = is_fresh ? Time{0} : query.change;
    }
    current = step.configuration;
    reached = end;
    is_fresh = false;
    const double rate = query.configurations[static_cast<std::size_t>(current)].rate;
    outcome.greatest_rate = std::max(outcome.greatest_rate, rate);
    const Time lost = std::min(pending, end - begin);
    pending -= lost;
    const Time runs = end - begin - lost;
    // Rounded up to a tick as a finish is.
    const Time needs{ceil_ticks((enough - outcome.done) / rate)};
    if (needs > runs) {
      outcome.done += ticks_of(runs) * rate;
      continue;
    }
    // The slot in which it is reached is used to its end.
    const Time at = begin + lost + needs;
    outcome.end = std::clamp(ceil_div(at.count(), slot.count()), step.begin + 1, step.end);
    const Time until = std::min(end, slot * outcome.end);
    outcome.done = std::max(enough, outcome.done + ticks_of(until - begin - lost) * rate);
    return outcome;
  }
  return outcome;
}

void cut_from(std::vector<PlanStep>& steps, std::int64_t end) {
  while (!steps.empty() && steps.back().begin >= end) steps.pop_back();
  if (!steps.empty()) steps.back().end = std::min(steps.back().end, end);
}

void cut_until(std::vector<PlanStep>& steps, std::int64_t begin) {
  std::erase_if(steps, [&](const PlanStep& step) { return step.end <= begin; });
  if (!steps.empty()) steps.front().begin = std::max(steps.front().begin, begin);
}

int configuration_at(std::span<const PlanStep> steps, std::int64_t slot) noexcept {
  for (const PlanStep& step : steps) {
    if (step.begin > slot) return -1;
    if (slot < step.end) return step.configuration;
  }
  return -1;
}

}  // namespace gpusched
