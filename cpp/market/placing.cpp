#include "market/placing.hpp"

namespace gpusched {

void MatchingPlacing::begin(const Setup& setup, double least_gain) {
  least_gain_ = least_gain;
  placement_ = &setup.placement;
  reallocation_.begin(setup);
  consolidation_.begin(setup);
}

void MatchingPlacing::apply(const State& state, Actions& actions, Reallocation::Others others,
                            const std::function<std::optional<JobId>()>& next) {
  reallocation_.apply(state, actions, others);
  moved_ = reallocation_.moved();
  others_.clear();
  if (!reallocation_.refused().empty() || state.num_running() == 0) {
    start_others(state, actions, next);
  }
}

void MatchingPlacing::start_others(const State& state, Actions& actions,
                                   const std::function<std::optional<JobId>()>& next) {
  std::size_t offers = 0;
  while (const std::optional<JobId> job = next()) {
    if (!state.is_waiting(*job) || state.has_just_stopped(*job)) continue;
    if (offers == kOffers && state.num_running() > 0) return;
    ++offers;
    if (!placement_->place(state.occupancy(), state.request(*job), allocation_)) continue;
    actions.start(*job, allocation_);
    others_.push_back(*job);
  }
}

bool MatchingPlacing::move_together(const State& state, std::span<const JobId> jobs,
                                    Actions& actions) {
  if (!consolidation_.move(state, jobs, actions)) return false;
  moved_.insert(moved_.end(), jobs.begin(), jobs.end());
  return true;
}

bool MatchingPlacing::would_gain(const State& state, const MatchingJobs::Job& job, int type) const {
  if (!(job.seen_rate > 0) || !state.is_running(job.id)) return false;
  const Slot& run = state.slot(job.id);
  if (run.start == state.now() || !Consolidation::is_spread(state, job.id)) return false;
  if (state.cluster().type(run.pieces.front().server) != type) return false;
  const double now = job.remaining_s / job.seen_rate;
  const double then = job.remaining_s / state.rate(job.id, type, run.gpus) + job.restart_s;
  return then < (1.0 - least_gain_) * now;
}

}  // namespace gpusched
