#include "deadlines/dancer_jobs.hpp"

#include <algorithm>

namespace gpusched {

std::span<const PlanConfiguration> ConfigurationSets::of(const State& state, JobId job) {
  const JobColumns& columns = state.jobs().columns();
  const Key key{state.classes().of(job), state.jobs().has_profiles() ? columns.profile[job] : 0,
                state.min_gpus(job), state.max_gpus(job)};
  auto& known = known_[key];
  if (known == nullptr) known = std::make_shared<const Set>(find(state, job));
  return *known;
}

ConfigurationSets::Set ConfigurationSets::find_on(const State& state, JobId job, int type,
                                                  std::int64_t available) const {
  const int own = state.jobs().gpus(job);
  const auto at_width = [&](int gpus) {
    const double rate = state.occupancy().is_pooled() ? 1.0 : state.rate(job, type, gpus);
    return PlanConfiguration{type, gpus, rate};
  };
  Set all;
  const std::int64_t most = std::min<std::int64_t>(available, state.max_gpus(job));
  for (std::int64_t gpus = 1; freedom_.in_number && gpus <= most; gpus *= 2) {
    if (gpus < state.min_gpus(job)) continue;
    all.push_back(at_width(static_cast<int>(gpus)));
    if (!(all.back().rate > 0.0)) all.pop_back();
  }
  // Best-effort jobs are limited to their requested width.
  if ((all.empty() || all.front().gpus > own) && own <= available) {
    all.insert(all.begin(), at_width(own));
  }
  double narrower = 0.0;
  std::erase_if(all, [&](const PlanConfiguration& c) {
    if (!(c.rate > narrower)) return true;
    narrower = c.rate;
    return false;
  });
  return all;
}

ConfigurationSets::Set ConfigurationSets::find(const State& state, JobId job) const {
  const auto& available = state.gpus_up_by_type();
  Set all;
  int fastest = -1;  // type at the job's own width, or wherever it runs at all
  double greatest = 0.0;
  for (int type = 0; type < static_cast<int>(available.size()); ++type) {
    const auto found = find_on(state, job, type, available[static_cast<std::size_t>(type)]);
    all.insert(all.end(), found.begin(), found.end());
    for (const PlanConfiguration& c : found) {
      if (c.gpus > state.jobs().gpus(job) || !(c.rate > greatest)) continue;
      greatest = c.rate;
      fastest = type;
    }
  }
  if (!freedom_.in_type && !all.empty()) {
    if (fastest < 0) fastest = all.front().type;
    std::erase_if(all, [&](const PlanConfiguration& c) { return c.type != fastest; });
  }
  return all;
}

PlanQuery DancerJob::query(const State& state) const {
  PlanQuery query{.configurations = configurations,
                  .work = static_cast<double>(state.remaining(job).count()),
                  .value = value,
                  .change = change,
                  .now = state.now(),
                  .deadline = deadline,
                  .current = held,
                  .is_fresh = state.record(job).start == kNever};
  if (held >= 0 && state.is_running(job)) {
    const Slot& run = state.slot(job);
    query.pending = std::max(Time{0}, run.paid_at() - state.now());
  }
  return query;
}

bool DancerJob::is_in_time(const PlanQuery& query) const {
  if (deadline == kNever || deadline <= query.now) return false;
  return ticks_of(deadline - query.now) * greatest_rate >= query.work;
}

}  // namespace gpusched
