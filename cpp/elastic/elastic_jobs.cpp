#include "elastic/elastic_jobs.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

namespace gpusched {
namespace {

/// Widths worth a look, ascending: the powers of two between the limits, and the limits
/// themselves and the own width where they are finite.
std::vector<int> widths_of(const State& state, JobId job, std::int64_t num_gpus) {
  const int own = state.jobs().gpus(job);
  const int least = state.min_gpus(job);
  const auto most = static_cast<int>(std::min<std::int64_t>(state.max_gpus(job), num_gpus));
  std::vector<int> widths{own};
  if (state.speed().is_elastic()) {
    for (int width = 1; width <= most; width *= 2) {
      if (width >= least) widths.push_back(width);
      if (width > most / 2) break;
    }
    widths.push_back(least);
  }
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  return widths;
}

}  // namespace

void ElasticJobs::begin(const Setup& setup, bool own_width_only, bool keeps_slower) {
  keeps_slower_ = keeps_slower;
  placement_ = &setup.placement;
  reallocation_.begin(setup);
  own_width_only_ = own_width_only;
  jobs_.clear();
  holders_.clear();
  touched_.clear();
  total_ = setup.state.gpus_up_by_type();
  left_ = unheld_ = total_;
  all_left_ = all_unheld_ = setup.state.gpus_up();
}

void ElasticJobs::describe(const State& state, Job& job) const {
  const std::vector<int> widths = own_width_only_ ? std::vector<int>{state.jobs().gpus(job.id)}
                                                  : widths_of(state, job.id, state.gpus_up());
  for (int type = 0; type < num_types(); ++type) {
    double best = 0;
    for (const int width : widths) {
      if (width > total(type)) break;
      const double rate = state.rate(job.id, type, width);
      if (!(rate > (keeps_slower_ ? 0.0 : best))) continue;
      job.configurations.push_back({type, width, rate});
      best = rate;
    }
  }
  if (job.configurations.empty()) describe_mixed(state, job);
}

/// The types that the speed can run the job on in combination, the fastest first.
void ElasticJobs::describe_mixed(const State& state, Job& job) const {
  const int own = state.jobs().gpus(job.id);
  job.configurations.push_back({kSeveralTypes, own, 1.0});
  std::vector<std::pair<double, int>> types;
  const TypeMask allowed = state.request(job.id).types;
  for (int type = 0; type < num_types(); ++type) {
    if ((allowed >> type & 1) == 0) continue;
    double iteration_s = 1.0;
    if (state.speed().is_elastic()) {
      // The rate on one server of the type, if it were large enough for the whole job.
      ServerId server = 0;
      while (state.cluster().type(server) != type) ++server;
      const Piece piece(server, ~GpuMask{0}, own);
      iteration_s = state.speed().iteration_s({job.id, {&piece, 1}, {}, {}});
    }
    if (std::isfinite(iteration_s)) types.emplace_back(iteration_s, type);
  }
  std::sort(types.begin(), types.end());
  for (const auto& [iteration_s, type] : types) job.mixed_types.push_back(type);
}

void ElasticJobs::open(const State& state, const Instant& instant) {
  touched_.clear();
  for (const JobId id : instant.finished) {
    const auto found = jobs_.find(id);
    hold(found->second, {}, 0);
    jobs_.erase(found);
  }
  for (const JobId id : instant.arrived) {
    Job job{};
    job.id = id;
    describe(state, job);
    jobs_.emplace_hint(jobs_.end(), id, std::move(job));
  }
  left_ = unheld_;
  all_left_ = all_unheld_;
}

void ElasticJobs::forget(JobId id) {
  std::erase_if(touched_, [&](const Job* job) { return job->id == id; });
  jobs_.erase(id);
}

void ElasticJobs::take_all_back() {
  left_ = total_;
  all_left_ = std::accumulate(total_.begin(), total_.end(), std::int64_t{0});
}

void ElasticJobs::withdraw_all() {
  take_all_back();
  for (Job* job : holders_) drop(*job);
}

void ElasticJobs::drop(Job& job) {
  touch(job);
  job.wanted.clear();
  job.wanted_rate = 0;
}

void ElasticJobs::leave_unchanged() {
  std::erase_if(touched_, [](Job* job) {
    job->is_touched = job->wanted != job->held;
    return !job->is_touched;
  });
}

void ElasticJobs::touch(Job& job) {
  if (job.is_touched) return;
  job.is_touched = true;
  touched_.push_back(&job);
}

/// From now on the job holds these GPUs.
void ElasticJobs::hold(Job& job, std::span<const Part> parts, double rate) {
  const auto count = [&](std::span<const Part> changed, int sign) {
    for (const Part& part : changed) {
      unheld_[index(part.type)] += sign * part.gpus;
      all_unheld_ += sign * part.gpus;
    }
  };
  if (job.held.empty() != parts.empty()) {
    if (parts.empty()) {
      holders_.back()->holder = job.holder;
      holders_[job.holder] = holders_.back();
      holders_.pop_back();
    } else {
      job.holder = holders_.size();
      holders_.push_back(&job);
    }
  }
  count(job.held, 1);
  count(parts, -1);
  job.held.assign(parts.begin(), parts.end());
  job.held_rate = rate;
}

/// The job keeps its allocation until the policy changes it.
void ElasticJobs::settle(Job& job) {
  if (job.wanted != job.held) job.wanted = job.held;
  job.wanted_rate = job.held_rate;
  job.is_touched = false;
}

void ElasticJobs::take(std::span<const Part> parts, int sign) noexcept {
  for (const Part& part : parts) {
    left_[index(part.type)] -= sign * part.gpus;
    all_left_ -= sign * part.gpus;
  }
}

double ElasticJobs::asked_rate(const State& state, Job& job, int type, int gpus) {
  if (job.rates.size() <= index(type)) job.rates.resize(index(type) + 1);
  std::vector<double>& rates = job.rates[index(type)];
  while (rates.size() <= static_cast<std::size_t>(gpus)) {
    rates.push_back(state.rate(job.id, type, static_cast<int>(rates.size())));
  }
  return rates[static_cast<std::size_t>(gpus)];
}

bool ElasticJobs::fits(const Job& job, const Configuration& configuration) const noexcept {
  const auto available = [&](int type) {
    std::int64_t gpus = left(type);
    for (const Part& part : job.wanted) gpus += part.type == type ? part.gpus : 0;
    return gpus;
  };
  if (configuration.type != kSeveralTypes)
    return configuration.gpus <= available(configuration.type);
  std::int64_t sum = 0;
  for (const int type : job.mixed_types) sum += available(type);
  return configuration.gpus <= sum;
}

bool ElasticJobs::give(Job& job, const Configuration& configuration) {
  if (!fits(job, configuration)) return false;
  withdraw(job);  // and is touched
  if (configuration.type != kSeveralTypes) {
    job.wanted.push_back({configuration.type, configuration.gpus});
  } else {
    std::int64_t missing = configuration.gpus;
    for (const int type : job.mixed_types) {
      const std::int64_t gpus = std::min(missing, left(type));
      if (gpus > 0) job.wanted.push_back({type, static_cast<int>(gpus)});
      missing -= gpus;
    }
    std::sort(job.wanted.begin(), job.wanted.end(),
              [](const Part& a, const Part& b) { return a.type < b.type; });
  }
  job.wanted_rate = configuration.rate;
  take(job.wanted, 1);
  return true;
}

bool ElasticJobs::keep(Job& job) {
  if (job.held.empty()) return false;
  touch(job);
  take(job.wanted, -1);
  const bool is_enough = std::all_of(job.held.begin(), job.held.end(), [&](const Part& part) {
    return part.gpus <= left(part.type);
  });
  if (is_enough) {
    job.wanted = job.held;
    job.wanted_rate = job.held_rate;
  }
  take(job.wanted, 1);
  return is_enough;
}

void ElasticJobs::withdraw(Job& job) {
  touch(job);
  take(job.wanted, -1);
  job.wanted.clear();
  job.wanted_rate = 0;
}

const Configuration* ElasticJobs::fastest(const Job& job, int max_gpus) const noexcept {
  const Configuration* best = nullptr;
  for (const Configuration& candidate : job.configurations) {
    if (candidate.gpus > max_gpus || !fits(job, candidate)) continue;
    const bool is_better = best == nullptr || candidate.rate > best->rate ||
                           (candidate.rate == best->rate && candidate.gpus < best->gpus);
    if (is_better) best = &candidate;
  }
  return best;
}

bool ElasticJobs::is_worth(const State& state, const Job& job, double rate) {
  const auto work = static_cast<double>(state.remaining(job.id).count());
  const auto cost = static_cast<double>(state.jobs().restart_cost(job.id).count());
  return work / rate + cost < work / job.held_rate;
}

bool ElasticJobs::is_restarting(const State& state, const Job& job) {
  return state.is_restarting(job.id);
}

void ElasticJobs::apply(const State& state, Actions& actions) {
  std::sort(touched_.begin(), touched_.end(),
            [](const Job* a, const Job* b) { return a->id < b->id; });
  for (const Job* job : touched_) {
    if (job->wanted == job->held) continue;
    if (job->wanted.empty()) {
      reallocation_.drop(job->id);
    } else {
      reallocation_.add(job->id, job->wanted);
    }
  }
  reallocation_.apply(state, actions, Reallocation::Others::stay);
  const std::vector<JobId>& refused = reallocation_.refused();
  for (Job* job : touched_) {
    if (!state.is_running(job->id)) {
      hold(*job, {}, 0);
    } else if (!std::binary_search(refused.begin(), refused.end(), job->id)) {
      hold(*job, job->wanted, job->wanted_rate);
    }
    settle(*job);
  }
  if (state.num_running() == 0 && !jobs_.empty()) start_any(state, actions);
}

void ElasticJobs::start_any(const State& state, Actions& actions) {
  for (auto& [id, job] : jobs_) {
    if (state.has_just_stopped(id)) continue;
    if (!placement_->place(state.occupancy(), state.request(id), allocation_)) continue;
    actions.start(id, allocation_);
    parts_of(state.cluster(), allocation_.gpus, allocation_.pieces, started_);
    const Part& first = started_.front();
    hold(job, started_, started_.size() == 1 ? state.rate(id, first.type, first.gpus) : 1.0);
    settle(job);
    const auto at = std::lower_bound(touched_.begin(), touched_.end(), id,
                                     [](const Job* a, JobId b) { return a->id < b; });
    if (at == touched_.end() || (*at)->id != id) touched_.insert(at, &job);
    return;
  }
  // Those that have just stopped cannot start at the same instant.
  actions.wake(state.now() + kTick);
}

}  // namespace gpusched
