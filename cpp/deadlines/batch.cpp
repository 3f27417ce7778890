#include "deadlines/batch.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr double kSumRounding = 1.0 + 1e-12;  // of a sum over jobs and slots

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

/// Runs of slots [begin, end) that some window has, in order.
std::vector<std::pair<std::int64_t, std::int64_t>> slots_in_use(const DeadlineJobs& jobs,
                                                                const DeadlinePlanner& planner) {
  std::vector<std::pair<std::int64_t, std::int64_t>> windows;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const PlanWindow window = planner.full_window_of(jobs.query(job));
    if (window.last > window.first) windows.emplace_back(window.first, window.last);
  }
  std::sort(windows.begin(), windows.end());
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  for (const auto& [first, last] : windows) {
    if (runs.empty() || first > runs.back().second) {
      runs.emplace_back(first, last);
    } else {
      runs.back().second = std::max(runs.back().second, last);
    }
  }
  return runs;
}

/// The cost of all GPUs in these slots.
double price_sum(const DeadlinePlanner& planner, const PromiseRuns& promised, std::int64_t first,
                 std::int64_t last) {
  const Prices& prices = planner.prices();
  double sum = 0.0;
  promised.for_each_piece(first, last, [&](std::int64_t begin, std::int64_t end) {
    for (int type = 0; type < prices.num_types(); ++type) {
      sum += prices.of(type, promised.promised(type, begin)) *
             static_cast<double>(prices.gpus(type)) * static_cast<double>(end - begin);
    }
  });
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
                             const PlannerOptions& options, bool knows, RunControl& control) {
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
    planner.advance(query.now);
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
    control.num_finished.fetch_add(1, std::memory_order_relaxed);
  }
  plans.first.reserve(jobs.size() + 1);
  for (const auto& own : steps) {
    plans.first.push_back(static_cast<std::int64_t>(plans.steps.size()));
    plans.steps.insert(plans.steps.end(), own.begin(), own.end());
  }
  plans.first.push_back(static_cast<std::int64_t>(plans.steps.size()));

  std::vector<PromiseRuns::Promise> promises;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    const PlanQuery query = jobs.query(job);
    for (const PlanStep& step : steps[job]) {
      const auto& c = query.configurations[static_cast<std::size_t>(step.configuration)];
      promises.push_back({c.type, c.gpus, step.begin, step.end});
    }
  }
  const PromiseRuns promised(type_gpus.size(), promises);
  const auto in_use = slots_in_use(jobs, planner);
  if (!in_use.empty()) {
    const PromiseRuns nothing(type_gpus.size(), {});
    const std::int64_t first = in_use.front().first;
    plans.initial_price_sum = price_sum(planner, nothing, first, in_use.back().second);
    plans.final_price_sum = price_sum(planner, promised, first, in_use.back().second);
  }
  // No job has anything to gain in slots that no window has.
  for (const auto& [first, last] : in_use) {
    plans.upper_bound += price_sum(planner, promised, first, last);
  }
  double all = 0.0;
  for (std::size_t job = 0; job < jobs.size(); ++job) {
    control.check();
    const PlanQuery query = jobs.query(job);
    const double least = optimistic_cost(planner, promised, query);
    if (!(least < kInfinity)) continue;
    plans.upper_bound += std::max(0.0, query.value - least);
    all += query.value;
  }
  // At prices of 0 it is what all jobs are worth that could be done alone. No rounding may make it
  // too low.
  plans.upper_bound = std::max(plans.value, std::min(kSumRounding * plans.upper_bound, all));
  measure_ratio(planner.prices(), plans);
  return plans;
}

}  // namespace gpusched
