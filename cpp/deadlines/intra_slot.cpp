#include "deadlines/intra_slot.hpp"

#include <ranges>

#include "base/infinity.hpp"
#include "deadlines/slot_filling.hpp"

namespace gpusched {

bool IntraSlot::place(const State& state, JobId job, const PlanConfiguration& configuration) {
  Request request = state.request(job);
  request.gpus = configuration.gpus;
  if (!state.occupancy().is_pooled()) request.types &= TypeMask{1} << configuration.type;
  if (request.gpus > state.occupancy().num_free(request.types)) return false;
  return placement_->place(state.occupancy(), request, allocation_);
}

/// GPUs of the type that a job on several types holds and can release.
std::int64_t IntraSlot::yielding_gpus(const State& state, JobId several, int type) const {
  if (!state.is_running(several)) return 0;
  const Slot& run = state.slot(several);
  if (run.is_suspended || run.start == state.now()) return 0;
  std::int64_t gpus = 0;
  for (const Piece& piece : run.pieces) {
    if (state.cluster().type(piece.server) == type) gpus += piece.gpus;
  }
  return gpus;
}

/// Jobs without a promise that hold GPUs of the type, those that matter least first.
void IntraSlot::find_yielding(const State& state, int type) {
  yielding_.clear();
  for (const JobId job : book_->several) {
    if (yielding_gpus(state, job, type) > 0) yielding_.push_back(book_->index[job]);
  }
  const auto add = [&](Index index) {
    const DancerJob& own = book_->jobs[index];
    if (own.held < 0 || !state.is_running(own.job)) return;
    const Slot& run = state.slot(own.job);
    if (run.is_suspended || run.start == state.now()) return;
    if (own.configurations[static_cast<std::size_t>(own.held)].type != type) return;
    yielding_.push_back(index);
  };
  for (auto job = book_->rest_running.rbegin(); job != book_->rest_running.rend(); ++job)
    add(book_->index[*job]);
  for (const Index index : std::views::reverse(book_->open)) add(index);
}

bool IntraSlot::might_start(const State& state, const PlanQuery& query) {
  count_spare(state);
  const auto add = [&](const DancerJob& own, int configuration, int sign) {
    if (configuration < 0) return;
    const PlanConfiguration& c = own.configurations[static_cast<std::size_t>(configuration)];
    spare_[static_cast<std::size_t>(c.type)] += sign * c.gpus;
  };
  for (const JobId job : book_->several) {
    for (int type = 0; type < static_cast<int>(spare_.size()); ++type) {
      spare_[static_cast<std::size_t>(type)] += yielding_gpus(state, job, type);
    }
  }
  for (const JobId job : book_->rest_running)
    add(book_->jobs[book_->index[job]], book_->jobs[book_->index[job]].held, 1);
  for (const Index index : book_->open) add(book_->jobs[index], book_->jobs[index].held, 1);
  for (const Index index : book_->live) {
    const DancerJob& own = book_->jobs[index];
    if (own.held < 0) continue;
    add(own, own.held, 1);
    add(own, configuration_at(own.steps, book_->slot), -1);
  }
  for (int c = 0; c < static_cast<int>(query.configurations.size()); ++c) {
    if (has_spare(query, c, -1, spare_)) return true;
  }
  return false;
}

/// A job with a promise goes back to what its plan holds in the slot, if the promise is kept.
bool IntraSlot::give_back(const State& state, Index index, Actions& actions) {
  DancerJob& own = book_->jobs[index];
  const int base = configuration_at(own.steps, book_->slot);
  if (own.held < 0 || own.held == base || !state.is_running(own.job)) return false;
  const Slot& run = state.slot(own.job);
  if (run.is_suspended || run.start == state.now()) return false;
  PlanQuery query = own.query(state);
  query.current = base;
  query.pending = base < 0 ? Time{0} : query.change;
  if (!book_->planner->keeps(query, own.steps)) return false;
  actions.suspend(own.job);
  if (base >= 0) {
    if (!place(state, own.job, own.configurations[static_cast<std::size_t>(base)])) {
      actions.restore(own.job);
      return false;
    }
    actions.resize(own.job, allocation_);
  }
  own.held = base;
  return true;
}

bool IntraSlot::start_now(const State& state, Index index, int configuration, Actions& actions) {
  bool has_started = start(state, index, configuration, actions);
  if (has_started) return true;
  const int type = book_->jobs[index].configurations[static_cast<std::size_t>(configuration)].type;
  find_yielding(state, type);
  std::size_t count = 0;
  while (!has_started && count < yielding_.size()) {
    actions.suspend(book_->jobs[yielding_[count++]].job);
    has_started = start(state, index, configuration, actions);
  }
  for (std::size_t i = 0; !has_started && i < book_->live.size(); ++i) {
    const DancerJob& own = book_->jobs[book_->live[i]];
    if (own.held < 0 || own.configurations[static_cast<std::size_t>(own.held)].type != type) {
      continue;
    }
    if (!give_back(state, book_->live[i], actions)) continue;
    has_started = start(state, index, configuration, actions);
  }
  // The last job in the round robin continues first.
  while (count > 0) {
    DancerJob& own = book_->jobs[yielding_[--count]];
    if (actions.restore(own.job)) continue;
    own.held = -1;
    if (own.promise != Promise::none) continue;
    book_->rest_running.erase(own.job);
    book_->rest.insert(own.job);
  }
  return has_started;
}

bool IntraSlot::start(const State& state, Index index, int configuration, Actions& actions) {
  DancerJob& own = book_->jobs[index];
  const PlanConfiguration& c = own.configurations[static_cast<std::size_t>(configuration)];
  if (!place(state, own.job, c)) return false;
  actions.start(own.job, allocation_);
  own.held = configuration;
  return true;
}

void IntraSlot::count_spare(const State& state) {
  const Occupancy& free = state.occupancy();
  spare_.resize(static_cast<std::size_t>(book_->planner->prices().num_types()));
  for (std::size_t type = 0; type < spare_.size(); ++type) {
    spare_[type] = free.is_pooled() ? free.num_free() : free.num_free(TypeMask{1} << type);
  }
}

void IntraSlot::start_waiting(const State& state, Actions& actions) {
  if (state.occupancy().num_free() == 0) return;
  int misses = 0;
  const auto can_start = [&](JobId job) {
    return state.is_waiting(job) && !state.has_just_stopped(job);
  };
  const auto is_over = [&] {
    return misses >= kMaxFillMisses || state.occupancy().num_free() == 0;
  };
  for (const Index index : book_->open) {
    if (is_over()) return;
    if (!can_start(book_->jobs[index].job)) continue;
    count_spare(state);
    FillJob job{.query = book_->jobs[index].query(state)};
    SlotFilling::rescue({&job, 1}, spare_);
    if (job.chosen < 0 || !start(state, index, job.chosen, actions)) ++misses;
  }
  const Time boundary = next_multiple(state.now(), book_->options.slot);
  for (const Index index : book_->live) {
    if (!fills_ || is_over()) break;
    const DancerJob& own = book_->jobs[index];
    const int next = configuration_at(own.steps, book_->slot + 1);
    if (next < 0 || boundary - state.now() <= own.change || !can_start(own.job)) continue;
    if (!start(state, index, next, actions)) ++misses;
  }
  for (JobId job = book_->rest.at_or_after(0); job != kNoJob && !is_over();
       job = book_->rest.at_or_after(job + 1)) {
    if (!can_start(job)) continue;
    count_spare(state);
    const DancerJob& own = book_->jobs[book_->index[job]];
    const int best = fastest_as_asked(own.query(state), own.asked, spare_);
    if (best < 0 || !start(state, book_->index[job], best, actions)) {
      ++misses;
    } else {
      book_->rest.erase(job);
      book_->rest_running.insert(job);
    }
  }
}

void IntraSlot::start_on_several_types(const State& state, Actions& actions) {
  for (const JobId job : book_->several) {
    if (!placement_->place(state.occupancy(), state.request(job), allocation_)) continue;
    actions.start(job, allocation_);
    return;
  }
}

}  // namespace gpusched
