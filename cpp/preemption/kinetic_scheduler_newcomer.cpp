#include "preemption/kinetic_scheduler.hpp"

namespace gpusched {

/// A job that comes alone where the choice stands and leaves so many GPUs over is taken, and makes no
/// difference to others: it need not be asked for before it starts. False if it has to be.
bool KineticScheduler::start_newcomer(const State& state, Actions& actions) {
  if (unseen_.size() != 1 || choice_.is_inexact() || displaces_) return false;
  const JobId job = unseen_.front();
  if (!choice_.has_room(state.jobs().gpus(job))) return false;
  straighten_waiting(state);
  choice_.straighten();
  if (choice_.is_inexact() || !may_start_newcomer(state)) return false;

  preempted_.clear();
  suspended_.clear();
  const bool claims = choice_.has_passed_over();
  if (claims) {
    keep_claimable(state);
  } else {
    claimable_.drop();
  }
  if (!start_taken(state, job, claims ? claimable_.set() : state.occupancy(), actions)) {
    refused_[state.classes().of(job)].with_passed = num_freed_passed_;
    return false;
  }
  unseen_.clear();
  choice_.add_running(job, line(state, job), true);
  preempt_suspended(state, actions);
  if (gives_way_) start_others(state, actions);
  requeue_preempted(state);
  return true;
}

/// Whether all that waits is left as it is, or starts only after a job that is taken now.
bool KineticScheduler::may_start_newcomer(const State& state) {
  if (!choice_.is_settled()) return false;
  if (choice_.has_passed_over() && (!gives_way_ || !claimable_.is_possible())) return false;
  return choice_.num_asked() == 0 || !may_place_asked(state);
}

}  // namespace gpusched
