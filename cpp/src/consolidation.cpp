#include "gpusched/consolidation.hpp"

#include <algorithm>
#include <cstddef>

namespace gpusched {

bool Consolidation::is_spread(const State& state, JobId job) {
  const Slot& run = state.slot(job);
  if (run.pieces.size() < 2) return false;
  const Cluster& cluster = state.cluster();
  const int type = cluster.type(run.pieces.front().server);
  const bool is_mixed = std::any_of(run.pieces.begin(), run.pieces.end(), [&](const Piece& piece) {
    return cluster.type(piece.server) != type;
  });
  const int size = cluster.largest_server(TypeMask{1} << type);
  return !is_mixed && run.pieces.size() > static_cast<std::size_t>((run.gpus + size - 1) / size);
}

bool Consolidation::move(const State& state, JobId job, Actions& actions) {
  const Slot& run = state.slot(job);
  Occupancy free = state.occupancy();
  if (const Demand* demand = state.jobs().demand(job)) {
    free.release(run.gpus, run.pieces, *demand);
  } else {
    free.release(run.gpus, run.pieces);
  }
  Request request = state.request(job);
  request.gpus = run.gpus;
  request.types &= TypeMask{1} << state.cluster().type(run.pieces.front().server);
  if (!placement_->place(free, request, allocation_)) return false;
  if (allocation_.pieces.size() >= run.pieces.size()) return false;
  actions.resize(job, allocation_);
  return true;
}

}  // namespace gpusched
