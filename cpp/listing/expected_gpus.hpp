#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"
#include "listing/running_index.hpp"
#include "seams/occupancy.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The GPUs that are free at an instant by the estimates: those that are free now, and those of
/// the running jobs that are expected to have ended by then. The set is kept as jobs start and
/// end, and the instant moves forth and back, so that each job is released in it about once.
class ExpectedGpus {
 public:
  /// `state` and `running`, the running jobs by their expected ends, outlive this.
  void begin(const State& state, const RunningIndex& running);

  /// A job has started, or ended, whose end was expected then.
  void start(JobId job, Time end);
  void finish(JobId job, Time end);
  /// Nobody asks for some time: what changes is only noted.
  void rest() noexcept;
  /// And not even that: the running jobs are told anew before anybody asks.
  void forget() noexcept { rests_ = is_stale_ = true; }

  /// Makes the set fit to be asked.
  void resume();
  [[nodiscard]] const Occupancy& set() const noexcept { return *set_; }
  /// The instant.
  [[nodiscard]] Time at() const noexcept { return at_; }
  /// The first expected end after the instant; kNever if there is none.
  [[nodiscard]] Time next_end() const;
  /// The last expected end at the instant or before, kNoEnd if there is none.
  [[nodiscard]] Time last_end() const;
  /// Moves the instant ahead to `at`.
  void advance(Time at);
  /// Moves the instant back to a tick before `end`.
  void retreat(Time end);
  /// Moves the instant back to `at`; no end is expected in between.
  void retreat_to(Time at) noexcept { at_ = at; }

  static constexpr Time kNoEnd{-1};

 private:
  void move(const Slot& run, JobId job, bool is_release);
  void note(const Slot& run);

  Ref<const State> state_;
  Ref<const RunningIndex> running_;
  std::optional<Occupancy> set_;
  Time at_ = kNoEnd;
  // While it rests: the servers that differ from those of the state, unless they are too many.
  bool can_rest_ = false;
  bool rests_ = true;
  bool is_stale_ = true;
  std::vector<ServerId> differing_;
  std::size_t most_differing_ = 0;
};

}  // namespace gpusched
