#include "elastic/consolidation.hpp"

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

bool Consolidation::move(const State& state, std::span<const JobId> jobs, Actions& actions) {
  Occupancy free = state.occupancy();
  moves_.clear();
  for (const JobId job : jobs) {
    const Slot& run = state.slot(job);
    moves_.push_back({job, run.gpus, {}});
    free.release(run.gpus, run.pieces, state.jobs().demand(job));
  }
  std::sort(moves_.begin(), moves_.end(), [](const Move& a, const Move& b) {
    return a.gpus != b.gpus ? a.gpus > b.gpus : a.job < b.job;
  });
  for (Move& move : moves_) {
    const Slot& run = state.slot(move.job);
    Request request = state.request(move.job);
    request.gpus = run.gpus;
    request.types &= TypeMask{1} << state.cluster().type(run.pieces.front().server);
    if (!placement_->place(free, request, move.to)) return false;
    if (move.to.pieces.size() >= run.pieces.size()) return false;
    free.acquire(move.to.gpus, move.to.pieces, request.demand);
  }
  for (const Move& move : moves_) actions.suspend(move.job);
  for (const Move& move : moves_) actions.resize(move.job, move.to);
  return true;
}

}  // namespace gpusched
