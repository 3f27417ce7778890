#include "elastic/width_growth.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>

namespace gpusched {
namespace {

std::size_t index(int type) noexcept { return static_cast<std::size_t>(type); }

/// Its least width on the type where it is fastest at that.
const Configuration& least_of(const ElasticJobs::Job& job) noexcept {
  const Configuration* best = &job.configurations.front();
  int previous = best->type;
  for (const Configuration& candidate : job.configurations) {
    if (candidate.type != previous && candidate.rate > best->rate) best = &candidate;
    previous = candidate.type;
  }
  return *best;
}

Contender contender_of(const State& state, const ElasticJobs& jobs, ElasticJobs::Job& job) {
  const Configuration& least = least_of(job);
  const std::int64_t most = std::min<std::int64_t>(jobs.total(least.type), state.max_gpus(job.id));
  const auto work = static_cast<double>(state.remaining(job.id).count());
  Contender contender{job.id,     least.type, least.gpus, static_cast<int>(most),
                      least.rate, 0.0,        work,       &job};
  contender.find_next_rate(state);
  return contender;
}

/// How fast the time left with its least width becomes less. A run ends at a whole tick, so that one
/// tick less is on the safe side.
double pace_of(const State& state, const ElasticJobs::Job& job) {
  if (!state.is_running(job.id)) return 0.0;
  const Time ticks = state.slot(job.id).work_end - state.now() - kTick;
  if (ticks <= Time{0}) return std::numeric_limits<double>::max();
  const auto left = static_cast<double>(state.true_remaining(job.id).count());
  return left / static_cast<double>(ticks.count()) / least_of(job).rate;
}

void want_least(ElasticJobs& jobs, ElasticJobs::Job& job) {
  const Configuration& least = least_of(job);
  jobs.drop(job);
  jobs.retain(least.type, -least.gpus);
  jobs.give(job, least);
}

}  // namespace

void WidthGrowth::begin(const Setup& setup) {
  contest_.begin(false);
  entries_.clear();
  changed_.clear();
  restarting_.clear();
  others_.clear();
  const auto num_types = static_cast<std::size_t>(setup.state.cluster().num_types());
  needed_.assign(num_types, 0);
  contenders_.assign(num_types, 0);
  num_odd_ = 0;
}

void WidthGrowth::forget(const ElasticJobs::Job& job) {
  leave(job);
  Entry& entry = entries_[job.id];
  if (entry.is_other) {
    std::erase_if(others_, [&](const ElasticJobs::Job* other) { return other == &job; });
  }
  entry = {.stand = Stand::gone};
}

void WidthGrowth::take_up_changed(const State& state, ElasticJobs& jobs) {
  for (const ElasticJobs::Job* job : restarting_) {
    if (!ElasticJobs::is_restarting(state, *job)) changed_.push_back(job->id);
  }
  for (const JobId id : changed_) {
    if (entries_[id].stand != Stand::gone) take_up(state, jobs, jobs.job(id));
  }
  changed_.clear();
  std::erase_if(others_, [&](const ElasticJobs::Job* job) { return !entries_[job->id].is_other; });
}

WidthGrowth::Stand WidthGrowth::stand_of(const State& state, const ElasticJobs::Job& job) {
  if (job.is_mixed()) return Stand::odd;
  if (ElasticJobs::is_restarting(state, job)) return Stand::restarting;
  const bool is_elsewhere = job.held_type() >= 0 && job.held_type() != least_of(job).type;
  return is_elsewhere ? Stand::odd : Stand::usual;
}

void WidthGrowth::take_up(const State& state, const ElasticJobs& jobs, ElasticJobs::Job& job) {
  Entry& entry = entries_[job.id];
  const Stand stand = stand_of(state, job);
  if (entry.stand != Stand::usual || stand != Stand::usual) {
    leave(job);
    enter(state, jobs, job, stand);
  }
  if (entry.contends) contest_.note_pace(job.id, pace_of(state, job));
  const Configuration& least = least_of(job);
  const bool has_least = job.held_type() == least.type && job.held_gpus() == least.gpus;
  const bool is_other = entry.stand == Stand::usual && !has_least;
  if (is_other && !entry.is_other) others_.push_back(&job);
  entry.is_other = is_other;
}

void WidthGrowth::enter(const State& state, const ElasticJobs& jobs, ElasticJobs::Job& job,
                        Stand stand) {
  Entry& entry = entries_[job.id];
  std::optional<Contender> contender;
  if (stand == Stand::usual) {
    contender = contender_of(state, jobs, job);
    if (contender->claim().passes(kOfNewcomer)) stand = Stand::odd;
  }
  entry.stand = stand;
  if (stand == Stand::odd) ++num_odd_;
  if (stand == Stand::restarting) restarting_.push_back(&job);
  if (stand != Stand::usual) return;
  needed_[index(contender->type)] += contender->gpus;
  entry.contends = contender->gains();
  if (!entry.contends) return;
  ++contenders_[index(contender->type)];
  contest_.insert(*contender);
}

void WidthGrowth::leave(const ElasticJobs::Job& job) {
  Entry& entry = entries_[job.id];
  if (entry.stand == Stand::odd) --num_odd_;
  if (entry.stand == Stand::restarting) {
    std::erase_if(restarting_, [&](const ElasticJobs::Job* other) { return other == &job; });
  }
  if (entry.stand != Stand::usual) return;
  const Configuration& least = least_of(job);
  needed_[index(least.type)] -= least.gpus;
  if (!entry.contends) return;
  entry.contends = false;
  --contenders_[index(least.type)];
  contest_.erase(job.id);
}

bool WidthGrowth::give_out(const State& state, ElasticJobs& jobs, StopCheck& stop) {
  const auto has_some = [](std::int64_t number) { return number > 0; };
  const auto growing = std::find_if(contenders_.begin(), contenders_.end(), has_some);
  const bool is_one_type =
      growing == contenders_.end() || std::none_of(growing + 1, contenders_.end(), has_some);
  if (num_odd_ > 0 || !is_one_type || !is_room_for_all(jobs)) return false;
  jobs.take_all_back();
  for (int type = 0; type < jobs.num_types(); ++type) jobs.retain(type, needed_[index(type)]);
  for (const ElasticJobs::Job* job : restarting_) {
    for (const Part& part : job->held) jobs.retain(part.type, part.gpus);
  }
  for (ElasticJobs::Job* job : others_) want_least(jobs, *job);
  if (growing != contenders_.end()) {
    grow(state, jobs, static_cast<int>(growing - contenders_.begin()), stop);
  }
  return true;
}

bool WidthGrowth::is_room_for_all(const ElasticJobs& jobs) const {
  for (int type = 0; type < jobs.num_types(); ++type) {
    std::int64_t needed = needed_[index(type)];
    for (const ElasticJobs::Job* job : restarting_) {
      for (const Part& part : job->held) needed += part.type == type ? part.gpus : 0;
    }
    if (needed > jobs.total(type)) return false;
  }
  return true;
}

void WidthGrowth::grow(const State& state, ElasticJobs& jobs, int type, StopCheck& stop) {
  contest_.renew(state);
  grown_.clear();
  while (jobs.left(type) > 0) {
    stop.count(kStepsOfGift);
    Contender* const winner = contest_.winner(stop);
    if (winner == nullptr) break;
    if (!winner->has_grown) grown_.emplace_back(winner, *winner);
    jobs.retain(type, 1);
    winner->grow(state);
    contest_.claim_again();
  }
  for (const auto& [contender, inserted] : grown_) {
    if (!contender->job->is_touched) want_least(jobs, *contender->job);
    ElasticJobs::widen(*contender->job, contender->gpus, contender->rate);
    *contender = inserted;
  }
}

}  // namespace gpusched
