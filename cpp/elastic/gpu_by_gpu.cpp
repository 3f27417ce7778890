#include "elastic/gpu_by_gpu.hpp"

namespace gpusched {

ParameterInfo GpuByGpu::period(double fallback) {
  return {.name = "period_s",
          .fallback = fallback,
          .help =
              "seconds between reallocations; between them only idle GPUs are given out (0: "
              "reallocate at every event)",
          .minimum = 0,
          .maximum = 1e9,
          .least_positive = 1};
}

PreemptionBound GpuByGpu::preemption() {
  return {.period = "period_s",
          .reason =
              "GPUs are taken back at multiples of the period only; between them what is idle is "
              "given out."};
}

void GpuByGpu::begin(const Setup& setup) {
  jobs_.begin(setup);
  waiting_.clear();
}

void GpuByGpu::decide(const State& state, const Instant& instant, Actions& actions) {
  jobs_.open(state, instant);
  if (jobs_.empty()) return;
  const auto key = [&](const ElasticJobs::Job& job) { return state.remaining(job.id).count(); };
  arrived_.clear();
  for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
  waiting_.add(arrived_, key);
  const bool is_due = period_ == Time{0} || state.now().count() % period_.count() == 0;
  line_.clear();
  if (is_due) {
    take_back(state, jobs_, line_, key);
    give_out(state);
    spare_restarts(state);
  } else {
    give_least(state);
  }
  jobs_.apply(state, actions);
  waiting_.update(jobs_.touched(), key);
  if (period_ > Time{0}) actions.wake(next_multiple(state.now(), period_));
}

bool GpuByGpu::withdraw(const State& /*state*/, JobId job) {
  waiting_.forget(jobs_.job(job));
  jobs_.forget(job);
  return true;
}

const Configuration* GpuByGpu::least_width(const State& state, const ElasticJobs::Job& job) const {
  const Configuration* best = nullptr;
  const Configuration* held = nullptr;
  int previous = kSeveralTypes - 1;
  for (const Configuration& candidate : job.configurations) {
    if (candidate.type == previous) continue;  // wider
    previous = candidate.type;
    if (!jobs_.fits(job, candidate)) continue;
    if (candidate.type == job.held_type()) held = &candidate;
    if (best == nullptr || candidate.rate > best->rate) best = &candidate;
  }
  if (held == nullptr || best == held) return best;
  // Both grow from there alike.
  const double rate = job.held_rate * (best->rate / held->rate);
  return ElasticJobs::is_worth(state, job, rate) ? best : held;
}

void GpuByGpu::give_least(ElasticJobs::Job& job, const Configuration& least) {
  const bool is_held = least.type == kSeveralTypes && !job.held.empty();
  if (!is_held || !jobs_.keep(job)) jobs_.give(job, least);
}

void GpuByGpu::give_least(const State& state) {
  WaitingLine::Walk all = line();
  while (ElasticJobs::Job* job = all.next()) {
    const Configuration* least = least_width(state, *job);
    if (least != nullptr) give_least(*job, *least);
  }
}

Configuration GpuByGpu::next_width(const State& state, const ElasticJobs::Job& job) const {
  const Part& now = job.wanted.front();
  Configuration next{now.type, now.gpus + 1, 0.0};
  const bool may = now.gpus < state.max_gpus(job.id) && now.gpus < jobs_.total(now.type);
  if (may) next.rate = state.rate(job.id, now.type, next.gpus);
  return next;
}

void GpuByGpu::spare_restarts(const State& state) {
  for (ElasticJobs::Job* job : jobs_.touched()) {
    if (job->wanted.size() != 1 || job->held_type() != job->wanted.front().type) continue;
    const bool grows = job->wanted.front().gpus > job->held_gpus();
    if (grows && !ElasticJobs::is_worth(state, *job, job->wanted_rate)) jobs_.keep(*job);
  }
}

}  // namespace gpusched
