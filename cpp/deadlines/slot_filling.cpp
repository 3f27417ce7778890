#include "deadlines/slot_filling.hpp"

#include <algorithm>

namespace gpusched {
namespace {

/// A gain of less than this part of a slot's work is not worth a change.
constexpr double kLeastGain = 0.01;

const PlanConfiguration& at(const PlanQuery& query, int configuration) noexcept {
  return query.configurations[static_cast<std::size_t>(configuration)];
}

/// Service in the slot, no more than is left; less what the change before the next slot loses.
double worth(const FillJob& job, int configuration, Time length) noexcept {
  double done = 0.0;
  if (configuration >= 0) {
    const Time runs = productive_time(job.query, configuration, length);
    done = static_cast<double>(runs.count()) * at(job.query, configuration).rate;
    if (done >= job.query.work) return job.query.work;
  }
  if (job.next >= 0 && job.next != configuration) {
    done -= static_cast<double>(job.query.change.count()) * at(job.query, job.next).rate;
  }
  return done;
}

void spend(const PlanQuery& query, int configuration, int sign, std::span<std::int64_t> spare) {
  if (configuration < 0) return;
  const PlanConfiguration& c = at(query, configuration);
  spare[static_cast<std::size_t>(c.type)] -= sign * c.gpus;
}

}  // namespace

Time productive_time(const PlanQuery& query, int configuration, Time length) noexcept {
  Time lost{0};
  if (configuration == query.current) {
    lost = query.pending;
  } else if (!query.is_fresh) {
    lost = query.change;
  }
  return std::max(Time{0}, length - lost);
}

bool has_spare(const PlanQuery& query, int configuration, int instead_of,
               std::span<const std::int64_t> spare) noexcept {
  const PlanConfiguration& c = at(query, configuration);
  std::int64_t free = spare[static_cast<std::size_t>(c.type)];
  if (instead_of >= 0 && at(query, instead_of).type == c.type) free += at(query, instead_of).gpus;
  return c.gpus <= free;
}

int fastest_as_asked(const PlanQuery& query, int asked,
                     std::span<const std::int64_t> spare) noexcept {
  int best = -1;
  for (int c = 0; c < static_cast<int>(query.configurations.size()); ++c) {
    if (at(query, c).gpus > asked || !has_spare(query, c, -1, spare)) continue;
    if (best < 0 || at(query, c).rate > at(query, best).rate) best = c;
  }
  return best;
}

void SlotFilling::push_best(std::span<const FillJob> jobs, std::uint32_t index,
                            std::span<const std::int64_t> spare, Time length) {
  const FillJob& job = jobs[index];
  const double now = worth(job, job.chosen, length);
  const int held = job.chosen < 0 ? 0 : at(job.query, job.chosen).gpus;
  Step best{0.0, index, -1};
  for (std::int32_t c = 0; c < static_cast<std::int32_t>(job.query.configurations.size()); ++c) {
    if (c == job.chosen || !has_spare(job.query, c, job.chosen, spare)) continue;
    const double gain = worth(job, c, length) - now;
    const double slot = static_cast<double>(length.count()) * at(job.query, c).rate;
    if (!(gain > kLeastGain * std::min(slot, job.query.work))) continue;
    const double extra = std::max(1, at(job.query, c).gpus - held);
    const double ratio = gain * job.worth / (job.query.work * extra);
    if (ratio > best.gain) best = {ratio, index, c};
  }
  if (best.configuration < 0) return;
  heap_.push_back(best);
  std::push_heap(heap_.begin(), heap_.end());
}

void SlotFilling::fill(std::span<FillJob> jobs, std::span<std::int64_t> spare, Time length) {
  heap_.clear();
  for (std::uint32_t index = 0; index < jobs.size(); ++index) {
    if (jobs[index].chosen < 0) jobs[index].chosen = jobs[index].base;
    push_best(jobs, index, spare, length);
  }
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Step step = heap_.back();
    heap_.pop_back();
    FillJob& job = jobs[step.job];
    if (has_spare(job.query, step.configuration, job.chosen, spare)) {
      spend(job.query, job.chosen, -1, spare);
      job.chosen = step.configuration;
      spend(job.query, job.chosen, 1, spare);
    }
    push_best(jobs, step.job, spare, length);
  }
}

void SlotFilling::rescue(std::span<FillJob> jobs, std::span<std::int64_t> spare) {
  for (FillJob& job : jobs) {
    const PlanQuery& query = job.query;
    const Time length = query.deadline - query.now;
    int best = -1;
    double least = 0.0;
    for (int c = 0; c < static_cast<int>(query.configurations.size()); ++c) {
      if (!has_spare(query, c, -1, spare)) continue;
      const PlanConfiguration& own = at(query, c);
      const Time runs = productive_time(query, c, length);
      if (static_cast<double>(runs.count()) * own.rate < query.work) continue;
      const double gpu_time = static_cast<double>(own.gpus) / own.rate;
      const bool goes_on = c == query.current;
      if (best < 0 || gpu_time < least || (gpu_time == least && goes_on)) {
        best = c;
        least = gpu_time;
      }
    }
    job.chosen = best;
    spend(query, best, 1, spare);
  }
}

}  // namespace gpusched
