#include "preemption/kinetic_scheduler.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/clone.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {
namespace {

/// With more classes than this, a filling, which visits all, is left to the slow reference.
constexpr ClassId kMostFilled = ClassHeads::kFewClasses;

}  // namespace

void ClaimableGpus::begin(const State& state) {
  const Occupancy& free = state.occupancy();
  state_ = &state;
  is_possible_ = !free.is_pooled() && !free.has_demands() && !free.has_shapes();
  is_kept_ = false;
  set_.reset();
  first_gpu_.clear();
  holder_.clear();
}

void ClaimableGpus::keep() {
  if (!set_) {
    const Cluster& cluster = state_->cluster();
    std::size_t num_gpus = 0;
    for (ServerId server = 0; server < cluster.num_servers(); ++server) {
      first_gpu_.push_back(num_gpus);
      num_gpus += static_cast<std::size_t>(cluster.gpus(server));
    }
    holder_.assign(num_gpus, 0);
  }
  set_ = state_->occupancy();
  is_kept_ = true;
}

void ClaimableGpus::note(const Slot& run, std::uint32_t slot) {
  for (const Piece& piece : run.pieces) {
    const std::size_t first = place_of(piece.server);
    for (GpuMask rest = piece.mask; rest != 0; rest &= rest - 1) {
      holder_[first + static_cast<std::size_t>(std::countr_zero(rest))] = slot;
    }
  }
}

void ClaimableGpus::add(const Slot& run, std::uint32_t slot) {
  set_->release(run.gpus, run.pieces);
  note(run, slot);
}

bool ClaimableGpus::find_holder(const std::vector<Piece>& pieces, std::uint32_t& slot) const {
  for (const Piece& piece : pieces) {
    const GpuMask held = piece.mask & ~state_->occupancy().free_mask(piece.server);
    if (held == 0) continue;
    slot = holder_[place_of(piece.server) + static_cast<std::size_t>(std::countr_zero(held))];
    return true;
  }
  return false;
}

KineticScheduler::KineticScheduler(Owned<PreemptiveScheduler> slow, ChoiceRule rule,
                                   const Parameters& parameters)
    : slow_(std::move(slow)),
      order_(slow_->order()),
      rule_(rule),
      displaces_(parameters.flag("displace")),
      holds_quota_(parameters.text("quota") == "hold") {}

void KineticScheduler::begin(const Setup& setup) {
  const State& state = setup.state;
  slow_->begin(setup);
  const bool fills = rule_ == ChoiceRule::filling || rule_ == ChoiceRule::strict_filling;
  // The choice counts GPUs once, before the run, and compares keys alone.
  is_slow_ = takes_slow_twins || state.occupancy().may_close() || state.jobs().has_precedences() ||
             !order_->has_lines(state) || KineticChoice::has_too_many_widths(state) ||
             (fills && state.classes().num_classes() > kMostFilled);
  if (is_slow_) return;
  placement_ = &setup.placement;
  seed_ = setup.seed;
  gives_way_ = !holds_quota_ && !state.occupancy().is_pooled();
  choice_.begin(setup, rule_, *order_);
  claimable_.begin(state);
  refused_.assign(state.classes().num_classes(), {});
  unseen_.clear();
  bends_.clear();
  num_freed_ = num_freed_passed_ = 1;
  closed_at_ = 0;
  placeable_.begin(setup, choice_.heads());
}

KeyLine KineticScheduler::line(const State& state, JobId job) {
  return order_->line(QueueView(state, seed_), job);
}

void KineticScheduler::decide(const State& state, const Instant& instant, Actions& actions) {
  if (is_slow_) {
    slow_->decide(state, instant, actions);
    return;
  }
  forget(state, instant.finished);
  unseen_.insert(unseen_.end(), instant.arrived.begin(), instant.arrived.end());
  const bool decides = slow_->is_to_decide(state);
  if (decides && start_newcomer(state, actions)) {
    ask_again(state, actions);
    return;
  }
  if (decides) {
    for (const JobId job : unseen_) add_waiting(state, job);
    unseen_.clear();
  }
  if (choice_.is_inexact()) {
    hand_over(state);
    slow_->decide(state, {{}, {}, instant.has_released}, actions);
    return;
  }
  // If no job waits, all running jobs stay.
  if (decides && choice_.num_waiting() > 0) redistribute(state, actions);
  ask_again(state, actions);
}

/// Keys that are rounded tie otherwise than lines do.
void KineticScheduler::hand_over(const State& state) {
  std::vector<JobId> running;
  state.for_each_running([&](const Slot& run) { running.push_back(run.job); });
  std::vector<JobId> waiting = choice_.drain_waiting();
  waiting.insert(waiting.end(), unseen_.begin(), unseen_.end());  // the last arrivals
  slow_->take_over(state, std::move(waiting), running);
  is_slow_ = true;
}

void KineticScheduler::forget(const State& state, std::span<const JobId> finished) {
  if (finished.empty()) return;
  for (const JobId job : finished) {
    const std::uint32_t slot = state.record(job).slot;  // not reused by a start since
    const bool was_taken = choice_.remove_running(slot);
    if (claimable_.is_kept() && was_taken) claimable_.release(state.slots()[slot]);
  }
  ++num_freed_;
  ++num_freed_passed_;
}

void KineticScheduler::add_waiting(const State& state, JobId job) {
  const KeyLine own = line(state, job);
  const Key key = choice_.add_waiting(job, own);
  if (own.until != kNever) bends_.push({own.until, state.history(job).idle_since, key});
}

/// Redraws lines of waiting jobs that have bent by now.
void KineticScheduler::straighten_waiting(const State& state) {
  bent_.clear();
  for (; !bends_.empty() && bends_.top().at <= state.now(); bends_.pop()) {
    const Bend& bend = bends_.top();
    const JobId job = bend.key.job;
    if (state.is_waiting(job) && state.history(job).idle_since == bend.idle_since) {
      bent_.push_back(bend.key);
    }
  }
  if (bent_.empty()) return;
  choice_.remove_waiting(bent_);
  for (const Key& job : bent_) add_waiting(state, job.job);
}

void KineticScheduler::redistribute(const State& state, Actions& actions) {
  straighten_waiting(state);
  const bool has_bent = choice_.straighten();
  if (choice_.settle()) ++num_freed_passed_;
  // A job that stays may have fallen behind a refused one, and can be displaced now.
  if (displaces_ && (has_bent || choice_.has_rising_keys())) ++num_freed_passed_;
  if (claimable_.is_kept()) {
    for (const auto& [job, is_taken] : choice_.moved()) {
      if (is_taken) {
        claimable_.remove(state.slot(job));
      } else {
        claimable_.add(state.slot(job), state.record(job).slot);
      }
    }
  }
  if (!choice_.has_passed_over()) claimable_.drop();
  preempted_.clear();
  if (!gives_way_ && choice_.has_passed_over()) {
    choice_.passed_over(passed_);
    for (const Key& job : passed_) preempt(state, job.job, actions);
    ++num_freed_;
  }
  place_asked(state, actions);
  if (gives_way_) start_others(state, actions);
  requeue_preempted(state);
}

void KineticScheduler::requeue_preempted(const State& state) {
  std::sort(preempted_.begin(), preempted_.end());
  end_decision(state);
  for (const JobId job : preempted_) add_waiting(state, job);
}

void KineticScheduler::end_decision(const State& state) {
  for (const JobId job : order_->end_decision(QueueView(state, seed_), preempted_)) {
    const bool was_taken = choice_.remove_running(state.record(job).slot);
    choice_.add_running(job, line(state, job), was_taken);
  }
}

void KineticScheduler::preempt(const State& state, JobId job, Actions& actions) {
  choice_.remove_running(state.record(job).slot);
  actions.preempt(job);
  preempted_.push_back(job);
}

bool KineticScheduler::is_refused(const State& state, const Key& job) const {
  const Refusal& last = refused_[state.classes().of(job.job)];
  if (last.with_passed != num_freed_passed_) return false;
  return !displaces_ || (last.with_later == num_freed_passed_ && !(job < last.job));
}

bool KineticScheduler::may_place_asked(const State& state) {
  if (choice_.has_many_classes() || displaces_) {
    choice_.asked(asked_);
    return std::any_of(asked_.begin(), asked_.end(),
                       [&](const Key& job) { return !is_refused(state, job); });
  }
  for (ClassId id = 0; id < refused_.size(); ++id) {
    if (choice_.num_asked(id) > 0 && refused_[id].with_passed != num_freed_passed_) return true;
  }
  return false;
}

/// Steps 3 and 4, if a job that is asked for may newly fit.
void KineticScheduler::place_asked(const State& state, Actions& actions) {
  if (choice_.num_asked() == 0 || !may_place_asked(state)) return;
  suspended_.clear();
  if (!choice_.has_passed_over()) {
    start_asked(state, state.occupancy(), actions);
  } else if (claimable_.is_possible()) {
    keep_claimable(state);
    start_asked(state, claimable_.set(), actions);
  } else {
    choice_.passed_over(suspended_);
    for (const Key& job : suspended_) actions.suspend(job.job);
    start_asked(state, state.occupancy(), actions);
    std::erase_if(suspended_, [&](const Key& job) { return actions.restore(job.job); });
  }
  preempt_suspended(state, actions);
}

void KineticScheduler::preempt_suspended(const State& state, Actions& actions) {
  std::sort(suspended_.begin(), suspended_.end());
  for (const Key& job : suspended_) preempt(state, job.job, actions);
  num_freed_ += suspended_.size();
}

void KineticScheduler::keep_claimable(const State& state) {
  if (claimable_.is_kept()) return;
  claimable_.keep();
  choice_.passed_over(passed_);
  for (const Key& job : passed_) claimable_.add(state.slot(job.job), state.record(job.job).slot);
}

void KineticScheduler::start_asked(const State& state, const Occupancy& free, Actions& actions) {
  choice_.asked(asked_);
  for (const Key& job : asked_) {
    if (is_refused(state, job)) continue;
    Refusal& refusal = refused_[state.classes().of(job.job)];
    if (refusal.with_passed != num_freed_passed_ && place_asked_job(state, job, free, actions)) {
      continue;
    }
    refusal.with_passed = num_freed_passed_;
    if (!displaces_ || displace(state, job, free, actions)) continue;
    refusal.with_later = num_freed_passed_;
    refusal.job = job;
  }
}

bool KineticScheduler::start_taken(const State& state, JobId job, const Occupancy& free,
                                   Actions& actions) {
  const bool claims = &free != &state.occupancy();
  const Request request = state.request(job);
  if (request.room() > free.num_free()) return false;
  if (!placement_->place(free, request, allocation_)) return false;
  if (claims) suspend_holders(state, actions);
  actions.start(job, allocation_);
  if (claims) claimable_.acquire(allocation_);
  return true;
}

bool KineticScheduler::place_asked_job(const State& state, const Key& job, const Occupancy& free,
                                       Actions& actions) {
  if (!start_taken(state, job.job, free, actions)) return false;
  choice_.start_asked(job, line(state, job.job));
  return true;
}

/// Tries again with the GPUs of kept jobs that come later.
bool KineticScheduler::displace(const State& state, const Key& job, const Occupancy& free,
                                Actions& actions) {
  choice_.taken_after(job, later_);
  if (later_.empty()) return false;
  const bool claims = &free != &state.occupancy();
  lend_later(state, claims, actions);
  const bool is_placed = place_asked_job(state, job, free, actions);
  take_back_later(state, claims, actions);
  return is_placed;
}

void KineticScheduler::lend_later(const State& state, bool claims, Actions& actions) {
  for (const Key& kept : later_) {
    if (claims) {
      claimable_.add(state.slot(kept.job), state.record(kept.job).slot);
    } else {
      actions.suspend(kept.job);
    }
  }
}

/// Jobs without a claimed GPU keep them; the others are preempted at once.
void KineticScheduler::take_back_later(const State& state, bool claims, Actions& actions) {
  std::erase_if(later_, [&](const Key& kept) {
    if (!claims) return actions.restore(kept.job);
    const Slot& run = state.slot(kept.job);
    if (!run.is_suspended) claimable_.remove(run);
    return !run.is_suspended;
  });
  if (later_.empty()) return;
  std::erase_if(suspended_,
                [&](const Key& holder) { return choice_.is_kept(state.record(holder.job).slot); });
  for (const Key& displaced : later_) preempt(state, displaced.job, actions);
  ++num_freed_;
  ++num_freed_passed_;
}

/// Jobs with claimed GPUs.
void KineticScheduler::suspend_holders(const State& state, Actions& actions) {
  std::uint32_t slot = 0;
  while (claimable_.find_holder(allocation_.pieces, slot)) {
    suspended_.push_back(choice_.key_of_running(slot));
    actions.suspend(state.slots()[slot].job);
  }
}

/// Step 5.
void KineticScheduler::start_others(const State& state, Actions& actions) {
  const Occupancy& free = state.occupancy();
  // Shares may still fit where no GPU is wholly free.
  if (!choice_.has_unasked() || (free.num_free() == 0 && !state.jobs().has_shares())) return;
  if (choice_.has_many_classes()) {
    start_others_of_many(state, actions);
    return;
  }
  const auto add_head = [&](ClassId id) {
    const Key head = choice_.least_waiting(id);
    if (head.job != kNoJob) others_.push({head, id});
  };
  others_.clear();
  for (ClassId id = 0; id < refused_.size(); ++id) {
    if (refused_[id].alone != num_freed_) add_head(id);
  }
  while (!others_.empty()) {
    const auto [head, id] = others_.top();
    others_.pop();
    if (state.classes().room(id) > free.num_free()) continue;
    if (placement_->place(free, state.request(head.job), allocation_)) {
      start_other(state, id, head.job, actions);
      add_head(id);
    } else {
      refused_[id].alone = num_freed_;
    }
  }
}

/// A class that was refused stays closed until anything has come free.
void KineticScheduler::start_others_of_many(const State& state, Actions& actions) {
  const Occupancy& free = state.occupancy();
  if (closed_at_ != num_freed_) choice_.reopen();
  closed_at_ = num_freed_;
  placeable_.begin_walk(state);
  for (;;) {
    ClassId id = 0;
    const JobId job = placeable_.least(choice_.heads(), state, id).job;
    if (job == kNoJob) break;
    if (placement_->place(free, state.request(job), allocation_)) {
      start_other(state, id, job, actions);
      placeable_.measure(state);
    } else {
      choice_.close(id, placeable_.refuses_alone(state, id));
    }
  }
  placeable_.end_walk(state);
}

void KineticScheduler::start_other(const State& state, ClassId id, JobId job, Actions& actions) {
  actions.start(job, allocation_);
  choice_.pop_waiting(id);
  choice_.add_running(job, line(state, job), false);
  if (!claimable_.is_kept()) return;
  const std::uint32_t slot = state.record(job).slot;
  claimable_.note(state.slots()[slot], slot);
}

void KineticScheduler::ask_again(const State& state, Actions& actions) {
  Time crossing = kNever;
  if (order_->has_crossings() && slow_->is_to_decide(state)) {
    preempted_.clear();  // no job waits, or no line has bent since
    if (choice_.straighten()) end_decision(state);
    crossing = order_->next_crossing_of_all(QueueView(state, seed_), choice_.next_bend());
  }
  slow_->ask_again(state, choice_.num_waiting() + unseen_.size() > 0, crossing, actions);
}

/// A single new job that fits beyond a valid choice is selected without affecting others: it can
/// start without being asked for. False otherwise.
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

/// Whether all other waiting jobs stay as they are, or start only after a job selected now.
bool KineticScheduler::may_start_newcomer(const State& state) {
  if (!choice_.is_settled()) return false;
  if (choice_.has_passed_over() && (!gives_way_ || !claimable_.is_possible())) return false;
  return choice_.num_asked() == 0 || !may_place_asked(state);
}

}  // namespace gpusched
