#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "listing/running_index.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// What the first of a line that has to wait is promised: the instant at which enough running
/// jobs have ended, by their estimates, for the placement to accept it, and the GPUs that it then
/// names. In one pool, instead of these, the number of GPUs left over at that instant.
class HeadReservation {
 public:
  void begin(const Setup& setup);

  /// `running`: the running jobs by their expected ends, of which one that has passed counts as
  /// the next tick.
  void make(const State& state, JobId head, const RunningIndex& running);

  /// kNever before the first is made.
  [[nodiscard]] Time at() const noexcept { return at_; }
  /// GPUs of a pool that the head leaves over.
  [[nodiscard]] std::int64_t extra() const noexcept { return extra_; }

  /// Whether the head is unharmed if the job starts now on these GPUs: it ends by then, or it
  /// leaves alone what the head needs. In a pool it is counted as started.
  [[nodiscard]] bool admits(const State& state, JobId job, const Allocation& allocation);

 private:
  void make_in_pool(const State& state, JobId head, const RunningIndex& running);
  void make_on_servers(const State& state, JobId head, const RunningIndex& running);
  [[nodiscard]] bool is_in_the_way(const Allocation& allocation) const;

  Ref<Placement> placement_;
  Time at_ = kNever;
  std::int64_t extra_ = 0;
  std::optional<Occupancy> plan_;
  Allocation allocation_;
  std::vector<GpuMask> reserved_;  // of each server
};

}  // namespace gpusched
