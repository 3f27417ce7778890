#include "gpusched/dancer_batch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gpusched {
namespace {

/// Positions in the order in which the jobs are decided on.
std::vector<std::size_t> order_of(const DeadlineJobs& jobs) {
  std::vector<double> density(jobs.size());
  for (std::size_t job = 0; job < jobs.size(); ++job) density[job] = value_density(jobs.query(job));
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (jobs.arrival_us[a] != jobs.arrival_us[b]) return jobs.arrival_us[a] < jobs.arrival_us[b];
    return density[a] != density[b] ? density[a] > density[b] : a < b;
  });
  return order;
}

/// The slots that some window has.
PlanWindow horizon_of(const DeadlineJobs& jobs, const DeadlinePlanner& planner) {
  PlanWindow all;
  bool is_empty = true;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const PlanWindow window = planner.window_of(jobs.query(job));
    if (window.last <= window.first) continue;
    all.first = is_empty ? window.first : std::min(all.first, window.first);
    all.last = is_empty ? window.last : std::max(all.last, window.last);
    is_empty = false;
  }
  return all;
}

double price_sum(const DeadlinePlanner& planner, const PlanWindow& horizon, bool is_final) {
  const Prices& prices = planner.prices();
  double sum = 0.0;
  for (int type = 0; type < prices.num_types(); ++type) {
    for (std::int64_t slot = horizon.first; slot < horizon.last; ++slot) {
      const int promised = is_final ? planner.ledger().promised(type, slot) : 0;
      sum += prices.of(type, promised) * static_cast<double>(prices.gpus(type));
    }
  }
  return sum;
}

/// alpha' and x for discrete sizes. Printed and tested, never decided by.
void measure_ratio(const Prices& prices, DeadlinePlans& plans) {
  for (int type = 0; type < prices.num_types(); ++type) {
    const auto [low, high] = prices.bounds(type);
    const double widest = prices.greatest_gpus(type);
    const double x = widest * std::log(high / low) / prices.exponent_gpus(type);
    plans.exponent = std::max(plans.exponent, x);
    plans.ratio = std::max(plans.ratio, prices.gpus(type) * std::expm1(x) / widest);
  }
}

}  // namespace

PlanQuery DeadlineJobs::query(std::size_t job) const noexcept {
  const auto begin = static_cast<std::size_t>(first[job]);
  const auto end = static_cast<std::size_t>(first[job + 1]);
  return {.configurations = std::span(configurations).subspan(begin, end - begin),
          .work = work[job],
          .value = value[job],
          .change = Time{change_us[job]},
          .now = Time{arrival_us[job]},
          .deadline = Time{deadline_us[job]}};
}

double value_density(const PlanQuery& query) noexcept {
  double most = 0.0;
  for (const PlanConfiguration& c : query.configurations) {
    most = std::max(most, c.rate / static_cast<double>(c.gpus));
  }
  return most * query.value / query.work;
}

DeadlinePlans plan_deadlines(const DeadlineJobs& jobs, std::span<const std::int64_t> type_gpus,
                             const PlannerOptions& options, bool knows,
                             const RunControl& control) {
  DeadlinePlanner planner(options, type_gpus);
  if (knows) {
    for (std::size_t job = 0; job < jobs.size(); ++job) planner.see(jobs.query(job));
  }
  DeadlinePlans plans;
  plans.verdicts.assign(jobs.size(), PlanVerdict::impossible);
  plans.costs.assign(jobs.size(), 0.0);
  plans.scarcities.resize(jobs.size());
  std::vector<std::vector<PlanStep>> steps(jobs.size());
  for (const std::size_t job : order_of(jobs)) {
    control.check();
    const PlanQuery query = jobs.query(job);
    if (!knows) planner.see(query);
    plans.verdicts[job] = planner.find(query, steps[job], plans.costs[job]);
    if (plans.verdicts[job] == PlanVerdict::found) {
      planner.promise(query, steps[job]);
      plans.value += query.value;
      plans.payoff_sum += query.value - plans.costs[job];
    } else {
      steps[job].clear();
      plans.scarcities[job] = scarcest(planner, query);
    }
  }
  plans.first.reserve(jobs.size() + 1);
  for (const auto& own : steps) {
    plans.first.push_back(static_cast<std::int64_t>(plans.steps.size()));
    plans.steps.insert(plans.steps.end(), own.begin(), own.end());
  }
  plans.first.push_back(static_cast<std::int64_t>(plans.steps.size()));

  const PlanWindow horizon = horizon_of(jobs, planner);
  plans.initial_price_sum = price_sum(planner, horizon, false);
  plans.final_price_sum = plans.upper_bound = price_sum(planner, horizon, true);
  double all = 0.0;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    control.check();
    const PlanQuery query = jobs.query(job);
    plans.upper_bound += std::max(0.0, query.value - optimistic_cost(planner, query));
    all += query.value;
  }
  plans.upper_bound = std::min(plans.upper_bound, all);  // as if all prices were 0
  measure_ratio(planner.prices(), plans);
  return plans;
}

}  // namespace gpusched
