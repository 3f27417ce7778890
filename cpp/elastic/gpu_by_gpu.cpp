#include "elastic/gpu_by_gpu.hpp"

#include <algorithm>

#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

std::int64_t remaining(const State& state, const ElasticJobs::Job& job) {
  return state.remaining(job.id).count();
}

}  // namespace

ParameterInfo GpuByGpu::period(double fallback) {
  return {.name = "period_s",
          .fallback = fallback,
          .help =
              "seconds between reallocations; in between, only idle GPUs are given out (0: "
              "reallocate at every event)",
          .minimum = 0,
          .maximum = 1e9,
          .least_positive = 1};
}

PreemptionBound GpuByGpu::preemption() {
  return {.period = "period_s",
          .reason =
              "GPUs are taken back only at multiples of the period; in between, only idle GPUs "
              "are given out."};
}

void GpuByGpu::begin(const Setup& setup) {
  jobs_.begin(setup);
  stop_.emplace(setup.control);
  waiting_.clear();
  has_one_width_ = setup.state.speed().is_fixed() && !takes_slow_twins;
  holders_.begin(false);
  restarting_.clear();
}

void GpuByGpu::decide(const State& state, const Instant& instant, Actions& actions) {
  if (has_one_width_) {
    for (const JobId id : instant.finished) leave_line(jobs_.job(id));
  }
  jobs_.open(state, instant);
  if (jobs_.empty()) return;
  const auto key = [&](const ElasticJobs::Job& job) { return remaining(state, job); };
  arrived_.clear();
  for (const JobId id : instant.arrived) arrived_.push_back(&jobs_.job(id));
  waiting_.add(arrived_, key);
  const bool is_due = period_ == Time{0} || state.now().count() % period_.count() == 0;
  line_.clear();
  if (!is_due) {
    give_least(state);
  } else if (can_keep_order(state)) {
    give_widths(state);
  } else {
    if (!give_out_to_few(state)) {
      take_back(state, jobs_, line_, key);
      give_out(state);
    }
    spare_restarts(state);
    jobs_.leave_unchanged();
  }
  jobs_.apply(state, actions);
  if (has_one_width_) leave_line_touched();
  waiting_.update(jobs_.touched(), key);
  if (has_one_width_) line_up_touched(state);
  if (period_ > Time{0}) actions.wake(next_multiple(state.now(), period_));
}

/// Jobs that run longer than predicted all have one tick left: they are ordered by JobId.
bool GpuByGpu::can_keep_order(const State& state) {
  if (!has_one_width_) return false;
  std::erase_if(restarting_, [&](ElasticJobs::Job* job) {
    const bool has_restarted = !ElasticJobs::is_restarting(state, *job);
    if (has_restarted) holders_.insert({job->line_key, job->id, job});
    return has_restarted;
  });
  return holders_.least_key() > state.now().count();
}

/// What `give_out` does if no job can grow: the same widths, in the same order.
void GpuByGpu::give_widths(const State& state) {
  jobs_.take_all_back();
  for (const ElasticJobs::Job* job : restarting_) {
    for (const Part& part : job->held) jobs_.retain(part.type, part.gpus);
  }
  holders_.give_out(jobs_, waiting_, state.now(), limit_to_held, [&](ElasticJobs::Job& job) {
    const Configuration* least = least_width(state, job);
    if (least != nullptr) give_least(job, *least);
  });
}

/// No other type is faster, so the job stays as long as its GPUs are left for it.
void GpuByGpu::limit_to_held(const ElasticJobs::Job& job, Hysteresis& limits) {
  if (job.is_mixed() || job.held.size() > 1) return limits.forbid();
  limits.hold(job.held.front());
}

void GpuByGpu::leave_line_touched() {
  for (ElasticJobs::Job* job : jobs_.touched()) {
    if (!job->is_waiting) leave_line(*job);
  }
}

void GpuByGpu::line_up_touched(const State& state) {
  for (ElasticJobs::Job* job : jobs_.touched()) {
    if (!job->held.empty()) line_up(state, *job);
  }
  for (const JobId id : jobs_.moved()) {
    leave_line(jobs_.job(id));
    line_up(state, jobs_.job(id));
  }
}

void GpuByGpu::line_up(const State& state, ElasticJobs::Job& job) {
  const Time error = state.jobs().predicted(job.id) - state.jobs().service(job.id);
  job.line_key = (state.slot(job.id).work_end + error).count();
  if (ElasticJobs::is_restarting(state, job)) {
    restarting_.push_back(&job);
  } else {
    holders_.insert({job.line_key, job.id, &job});
  }
}

void GpuByGpu::leave_line(ElasticJobs::Job& job) {
  const auto is_job = [&](const ElasticJobs::Job* other) { return other == &job; };
  if (std::erase_if(restarting_, is_job) == 0) holders_.erase({job.line_key, job.id, &job});
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
    stop_->count(kStepsOfWidth);
    const Configuration* least = least_width(state, *job);
    if (least != nullptr) give_least(*job, *least);
  }
}

int GpuByGpu::most_gpus(const State& state, const ElasticJobs::Job& job) const noexcept {
  const std::int64_t total = jobs_.total(job.wanted.front().type);
  return static_cast<int>(std::min<std::int64_t>(total, state.max_gpus(job.id)));
}

void GpuByGpu::spare_restarts(const State& state) {
  for (ElasticJobs::Job* job : jobs_.touched()) {
    if (job->wanted.size() != 1 || job->held_type() != job->wanted.front().type) continue;
    const bool grows = job->wanted.front().gpus > job->held_gpus();
    if (grows && !ElasticJobs::is_worth(state, *job, job->wanted_rate)) jobs_.keep(*job);
  }
}

}  // namespace gpusched
