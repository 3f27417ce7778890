#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "engine/link_sharers.hpp"
#include "engine/run_state.hpp"
#include "model/network.hpp"
#include "seams/contention.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// Keeps the rates of running jobs current if they depend on allocations. Jobs join and leave links
/// as they start and stop; once per instant, exactly the jobs on links with a changed load get a
/// new rate.
class Progress {
 public:
  /// `verify`: after each update, recompute everything and compare bit for bit.
  Progress(RunState& state, Speed& speed, const Contention& contention, bool verify);

  /// Whether rates change at all; if not, nothing else may be called.
  [[nodiscard]] bool is_active() const noexcept { return is_active_; }

  /// The job of the slot starts; `update` gives it its rate and finish.
  void start(std::uint32_t slot, std::span<const std::int32_t> ranks);
  /// The job of the slot has done all its work, or loses its GPUs now.
  void finish(std::uint32_t slot);
  void stop(std::uint32_t slot);
  /// Finds the slots whose finish moved since the last call; their paces hold their new rates.
  [[nodiscard]] const std::vector<std::uint32_t>& update();
  /// When the job of the slot will be done at its present rate.
  [[nodiscard]] Time finish_of(std::uint32_t slot) const;

  [[nodiscard]] std::uint64_t num_computed() const noexcept { return num_computed_; }
  [[nodiscard]] std::uint64_t num_changed() const noexcept { return num_changed_; }

 private:
  void touch(std::uint32_t slot);
  void end_run(std::uint32_t slot, double done);
  [[nodiscard]] LinkUse use_of(const Crossing& crossing, std::size_t num_rings) const;
  [[nodiscard]] double rate_of(std::uint32_t slot, bool is_free);
  void verify() const;

  Ref<RunState> state_;
  Ref<Speed> speed_;
  Ref<const Contention> contention_;
  bool is_active_;
  bool verify_;
  bool is_shared_;
  RingLinks finder_;
  LinkSharers places_;
  std::vector<double> share_;  // of each link, for each ring on it, at the last update
  std::vector<std::vector<std::int32_t>> ranks_;  // of each slot: see Allocation
  std::vector<char> is_touched_;             // of each slot
  std::vector<std::uint32_t> started_;
  std::vector<std::uint32_t> touched_;
  std::vector<std::uint32_t> moved_;
  std::vector<Crossing> crossings_;
  std::vector<LinkShare> shares_;
  std::uint64_t num_computed_ = 0;
  std::uint64_t num_changed_ = 0;
};

}  // namespace gpusched
