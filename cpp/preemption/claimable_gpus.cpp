#include "preemption/claimable_gpus.hpp"

#include <bit>

namespace gpusched {

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

}  // namespace gpusched
