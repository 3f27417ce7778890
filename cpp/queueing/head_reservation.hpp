#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"
#include "queueing/running_index.hpp"
#include "seams/occupancy.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"
#include "seams/window_placement.hpp"

namespace gpusched {

/// The GPUs that are free at an instant by the estimates: those that are free now, and those of
/// the running jobs that are expected to have ended by then. The set is kept as jobs start and
/// end, and the instant moves forth and back, so that each job is released in it about once.
class ExpectedGpus {
 public:
  /// `state` and `running`, the running jobs by their expected ends, outlive this.
  void begin(const State& state, const RunningIndex& running);

  /// A job with this expected end has started, or ended.
  void start(JobId job, Time end);
  void finish(JobId job, Time end);
  /// No queries for some time: only record changes.
  void rest() noexcept;
  /// Drops all state; the caller must re-add the running jobs before the next query.
  void forget() noexcept { rests_ = is_stale_ = true; }

  /// Makes the set ready for queries.
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

/// The reservation of the first waiting job: the shadow time, at which enough running jobs have
/// ended, by their estimates, for the placement to accept it, and the GPUs that it then gets. In a
/// pool, instead of these, the number of extra GPUs that it leaves over by then (Feitelson and
/// Weil). The instant and the set of GPUs free by then are kept between reservations, which takes
/// 0.28 to 0.45 of the time of the plain rule with `consolidated` if 3,000 (8 servers) to 20,000
/// (512) jobs wait and estimates are 1 to 3 times too long, 0.5 to 1.3 elsewhere.
class HeadReservation {
 public:
  /// `admits_extra`: whether a job may run past the reserved start. `margin`: a job on reserved GPUs
  /// must end so long before it.
  void begin(const Setup& setup, bool admits_extra = true, Time margin = Time{0});

  /// The end of a job's run by its estimate, which restarts at every resume; also for an ended job
  /// until another starts.
  [[nodiscard]] static Time expected_end(const State& state, JobId job) {
    return state.slot(job).start + state.jobs().estimate(job);
  }

  /// Every job that starts, and every one that ends, before others start.
  void start(const State& state, JobId job);
  void finish(const State& state, JobId job);
  /// The running jobs by their expected ends, unless they are not tracked.
  [[nodiscard]] const RunningIndex& running() const noexcept { return running_; }

  /// GPUs went down or came back; call before what else happened.
  void change_gpus() {
    expected_.forget();
    has_gained_ = true;
  }

  /// An end that has passed counts as the next tick.
  void make(const State& state, JobId head);
  /// No job has to wait: no reservation is needed for some time.
  void rest() noexcept { expected_.rest(); }
  /// The same, without queries for running jobs: they are no longer tracked once that has lasted
  /// for as many decisions as it takes steps to find them again.
  void untrack(const State& state);
  /// Before anybody asks for them or relies on a reservation again.
  void track(const State& state);

  /// kNever before the first is made.
  [[nodiscard]] Time shadow_time() const noexcept { return shadow_time_; }
  /// How long a job may run that starts now and leaves the reservation alone.
  [[nodiscard]] Time longest(const State& state) const noexcept {
    return shadow_time_ == kNever ? kNever : shadow_time_ - margin_ - state.now();
  }

  /// GPUs that are free now and not reserved, or in a pool those left over by the head: a job that
  /// needs more must end before its start. Below 0 if every job must.
  [[nodiscard]] std::int64_t spare(const State& state) const noexcept;
  /// Whether the head is unharmed if the job starts now on these GPUs: it ends by then, or it
  /// leaves alone what the head needs. In a pool it is counted as started.
  [[nodiscard]] bool admits(const State& state, JobId job, const Allocation& allocation);

 private:
  void make_in_pool(const State& state, JobId head);
  void make_on_servers(const State& state, JobId head);
  void find_from_now(const State& state, const Request& request);
  void find_from_last(const State& state, const Request& request);
  void reserve(const State& state, const Piece& piece, GpuMask mask);
  [[nodiscard]] bool accepts(Time at, const Occupancy& free, const Request& request);
  [[nodiscard]] bool is_in_the_way(const Allocation& allocation) const;

  Ref<Placement> placement_;
  Ref<WindowPlacement> windows_;  // where maintenance is known ahead
  bool is_slow_ = false;
  bool admits_extra_ = true;
  Time margin_{0};
  RunningIndex running_;
  bool is_untracked_ = false;
  std::size_t num_idle_ = 0;  // since it was last needed
  Time shadow_time_ = kNever;
  std::int64_t extra_gpus_ = 0;
  ExpectedGpus expected_;
  JobId head_ = kNoJob;      // of the last reservation
  bool has_gained_ = false;  // and whether a job has ended since before it was expected to
  Allocation allocation_;
  Allocation tried_;
  std::vector<GpuMask> reserved_;  // of each server
};

}  // namespace gpusched
