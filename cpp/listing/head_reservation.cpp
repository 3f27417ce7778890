#include "listing/head_reservation.hpp"

#include <algorithm>

namespace gpusched {

void HeadReservation::begin(const Setup& setup) {
  placement_ = &setup.placement;
  at_ = kNever;
  extra_ = 0;
  plan_.reset();
  if (!placement_->is_pooled()) plan_.emplace(setup.state.occupancy());
  allocation_.reset(0);
  reserved_.assign(static_cast<std::size_t>(setup.state.cluster().num_servers()), 0);
}

void HeadReservation::make(const State& state, JobId head, const RunningIndex& running) {
  if (placement_->is_pooled()) {
    make_in_pool(state, head, running);
  } else {
    make_on_servers(state, head, running);
  }
}

void HeadReservation::make_in_pool(const State& state, JobId head, const RunningIndex& running) {
  const std::int64_t free = state.occupancy().num_free();
  const int gpus = state.jobs().gpus(head);
  std::int64_t before = 0;
  at_ = std::max(running.reach(gpus - free, before)->end, state.now() + kTick);
  extra_ = free + running.sum_until(at_) - gpus;
}

void HeadReservation::make_on_servers(const State& state, JobId head, const RunningIndex& running) {
  for (const Piece& piece : allocation_.pieces) {
    reserved_[static_cast<std::size_t>(piece.server)] = 0;
  }
  allocation_.reset(0);
  Occupancy& plan = *plan_;
  plan = state.occupancy();
  const Time soonest = state.now() + kTick;
  at_ = kNever;
  Time at = kNever;
  bool is_found = false;
  const Request request = state.request(head);
  const auto look = [&] {
    if (placement_->widest(plan, request.types) < request.room()) return;
    is_found = placement_->place(plan, request, allocation_);
    if (is_found) at_ = at;
  };
  running.for_each([&](const RunningIndex::Entry& entry) {
    if (is_found) return;
    const Time end = std::max(entry.end, soonest);
    if (at != kNever && end != at) look();
    if (is_found) return;
    at = end;
    const Slot& run = state.slot(entry.job);
    if (const Demand* demand = state.jobs().demand(entry.job)) {
      plan.release(run.gpus, run.pieces, *demand);
    } else {
      plan.release(run.gpus, run.pieces);
    }
  });
  if (!is_found) look();
  for (const Piece& piece : allocation_.pieces) {
    // Who asks for more than GPUs may lack CPU where the head's GPUs are left alone.
    reserved_[static_cast<std::size_t>(piece.server)] =
        state.jobs().has_demands() ? ~GpuMask{0} : piece.mask;
  }
}

bool HeadReservation::is_in_the_way(const Allocation& allocation) const {
  return std::any_of(allocation.pieces.begin(), allocation.pieces.end(), [&](const Piece& piece) {
    return (reserved_[static_cast<std::size_t>(piece.server)] & piece.mask) != 0;
  });
}

bool HeadReservation::admits(const State& state, JobId job, const Allocation& allocation) {
  if (state.now() + state.jobs().estimate(job) <= at_) return true;
  if (!placement_->is_pooled()) return !is_in_the_way(allocation);
  if (allocation.gpus > extra_) return false;
  extra_ -= allocation.gpus;
  return true;
}

}  // namespace gpusched
