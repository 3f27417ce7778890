#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "model/allocation.hpp"
#include "seams/occupancy.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The free GPUs and those of running jobs that give way, as one set, and whose these are. Where
/// jobs ask for nothing but GPUs; kept from one decision to the next while somebody gives way.
class ClaimableGpus {
 public:
  void begin(const State& state);

  /// Whether the set can be had at all: else those who give way have to be suspended.
  [[nodiscard]] bool is_possible() const noexcept { return is_possible_; }
  [[nodiscard]] bool is_kept() const noexcept { return is_kept_; }
  [[nodiscard]] const Occupancy& set() const noexcept { return *set_; }

  /// Makes the set of what is free; those who give way are added one by one.
  void keep();
  void drop() noexcept { is_kept_ = false; }

  /// A running job gives way from now on, or no longer.
  void add(const Slot& run, std::uint32_t slot);
  void remove(const Slot& run) { set_->acquire(run.gpus, run.pieces); }
  /// A job that does not give way has started, or has ended.
  void acquire(const Allocation& taken) { set_->acquire(taken.gpus, taken.pieces); }
  void release(const Slot& run) { set_->release(run.gpus, run.pieces); }
  /// A job that gives way has started.
  void note(const Slot& run, std::uint32_t slot);

  /// The slot of who gives way on the first GPU of the pieces that is not free; false if all are.
  [[nodiscard]] bool find_holder(const std::vector<Piece>& pieces, std::uint32_t& slot) const;

 private:
  [[nodiscard]] std::size_t place_of(ServerId server) const noexcept {
    return first_gpu_[static_cast<std::size_t>(server)];
  }

  Ref<const State> state_;
  bool is_possible_ = false;
  bool is_kept_ = false;
  std::optional<Occupancy> set_;  // none before it is needed
  std::vector<std::size_t> first_gpu_;
  std::vector<std::uint32_t> holder_;  // by GPU; right where one who gives way holds it
};

}  // namespace gpusched
