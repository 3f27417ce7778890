#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "seams/actions.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The runs that were ended at timers, by preemptions and resizes: each is a turn.
struct Turns {
  /// Ticks of many jobs together, which may be more than an instant can hold.
  __extension__ typedef __int128 Ticks;

  /// Whether nothing has finished or arrived at the present instant. There are at most two other
  /// instants per job, so that what happens at those comes to an end.
  bool is_timer = false;
  std::uint64_t num = 0;
  std::uint64_t num_rows = 0;  ///< of the log: a turn of a job has one for each of its servers
  Ticks gained = 0;            ///< service done in the runs that they ended
  Ticks lost = 0;  ///< restart costs paid in those runs, and work added for their end
  Ticks added = 0;  ///< work that preemptions at all other instants have added
  std::array<JobId, 8> last{};  ///< the jobs of the last turns

  void add(JobId job, std::size_t num_pieces, Time run_gained, Time run_lost) noexcept {
    last[num++ % last.size()] = job;
    num_rows += num_pieces == 0 ? 1 : num_pieces;
    gained += run_gained.count();
    lost += run_lost.count();
  }
};

/// Ends a run that makes no progress. The rule is in docs/reference/semantics.md: it counts work,
/// turns and instants, never wall-clock seconds, so that a run ends alike on every machine.
class Livelock {
 public:
  /// Call after the decision of an instant without finishes or arrivals. Throws InvalidInput that
  /// names the jobs that take turns, the cost and gain of a turn, and what to change.
  void look(const State& state, const Turns& turns) {
    ++num_instants_;
    if (turns.num_rows >= turns_.end) judge_turns(state, turns);
    if (num_instants_ >= instants_.end) judge_instants(state, turns);
  }

  static constexpr std::uint64_t kWindow = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostRows = std::uint64_t{1} << 28;
  static constexpr std::uint64_t kMostRowsPerJob = std::uint64_t{1} << 20;
  static constexpr std::uint64_t kMostInstants = std::uint64_t{1} << 32;

 private:
  /// Work of the jobs that have arrived and are not done.
  struct Work {
    Turns::Ticks left = 0;
    Turns::Ticks arrived =
        0;  // of that, and of what is done, from jobs that came since the window began
    std::uint64_t num_jobs = 0;
  };
  struct Window {
    std::uint64_t begin = 0;
    std::uint64_t end = kWindow;
    Time now{0};
    JobId num_arrived = 0;
    Turns::Ticks left = 0;
    Turns turns;
  };

  [[nodiscard]] static Work work_of(const State& state, JobId first_arrival);
  static void open(Window& window, std::uint64_t count, const State& state, const Turns& turns,
                   const Work& work);
  /// Service done since the window began, less the work that turns have added.
  [[nodiscard]] static double done_in(const Window& window, const Work& work,
                                      const Turns& turns) noexcept;
  void judge_instants(const State& state, const Turns& turns);
  void judge_turns(const State& state, const Turns& turns);
  [[noreturn]] static void fail_for_turns(const State& state, const Turns& turns,
                                          const Turns& before, double left, double done);

  std::uint64_t num_instants_ = 0;
  Window instants_;
  Window turns_;
};

}  // namespace gpusched
