#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"
#include "model/allocation.hpp"
#include "seams/actions.hpp"
#include "seams/occupancy.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// GPUs of one type.
struct Part {
  int type;
  int gpus;

  friend auto operator<=>(const Part&, const Part&) = default;
};

/// The parts of an allocation, by type. In a pool, which has no types, all are of type 0.
void parts_of(const Cluster& cluster, int gpus, std::span<const Piece> pieces,
              std::vector<Part>& out);

/// Turns target counts of GPUs by type into GPUs, through the run's placement: schedulers that
/// count GPUs need not know servers.
class Reallocation {
 public:
  /// It asks `stop` whether to go on, which outlives it, or else the run's control.
  void begin(const Setup& setup, StopCheck* stop = nullptr);

  /// Sets the target of a waiting or running job; parts by ascending type. At most once per job.
  void add(JobId job, std::span<const Part> parts);

  /// The job, which runs, shall hold nothing. Of use where the others stay.
  void drop(JobId job) { others_.push_back(job); }

  /// Forgets what was added and dropped.
  void clear() noexcept {
    targets_.clear();
    parts_.clear();
    others_.clear();
  }

  /// What happens to running jobs that were neither added nor dropped.
  enum class Others : std::uint8_t { stop, stay };

  /// Preempts dropped jobs, and with `Others::stop` all jobs without a target. Jobs with unchanged
  /// parts keep their GPUs. The others get new GPUs, wider first, then by JobId, each part from the
  /// placement. If that fails although enough GPUs of the type are free, narrower unchanged jobs
  /// move, the smallest first; if jobs may be stopped, a server is cleared. Empties the list.
  void apply(const State& state, Actions& actions, Others others = Others::stop);

  /// Whether a job may be moved to make room; all may where this is empty.
  std::function<bool(JobId)> may_move;
  /// Whether a job may lose its GPUs to one that fits nowhere else; none may where this is empty.
  std::function<bool(JobId)> may_stop;
  /// Tried if the run's placement refuses a job although there are enough GPUs.
  Ref<Placement> last_resort;

  /// The jobs of the last `apply` that found no place, by JobId. Those that ran go on with the
  /// GPUs they had if these are still free, and wait if not.
  [[nodiscard]] const std::vector<JobId>& refused() const noexcept { return refused_; }
  /// Jobs that the last `apply` moved to make room, maybe repeated.
  [[nodiscard]] const std::vector<JobId>& moved() const noexcept { return moved_; }

 private:
  struct Target {
    JobId job;
    int gpus;
    std::uint32_t begin;  // in parts_
    std::uint32_t end;
  };
  struct Move {
    JobId job;
    int gpus;
    bool stops;
    Allocation allocation;
  };
  /// A server, and the GPUs on it of jobs that can leave it.
  struct Vacancy {
    std::int64_t gpus;
    ServerId server;

    auto operator<=>(const Vacancy&) const = default;
  };

  [[nodiscard]] std::span<const Part> parts(const Target& target) const noexcept {
    return {parts_.data() + target.begin, parts_.data() + target.end};
  }
  [[nodiscard]] bool place(const Occupancy& free, const State& state, JobId job,
                           std::span<const Part> parts, Allocation& out,
                           Placement* placement = nullptr);
  [[nodiscard]] bool has_free(const Occupancy& free, std::span<const Part> parts) const;
  void find_others(const State& state);
  void suspend_changed(const State& state, Actions& actions);
  void settle(const State& state, JobId job, const Allocation& allocation, Actions& actions);
  [[nodiscard]] bool defragment(const State& state, const Target& target, Actions& actions);
  [[nodiscard]] bool is_movable(const State& state, const Slot& run, const Target& target);
  /// The smallest jobs that may make room, at most `most`.
  void find_movable(const State& state, const Target& target, std::size_t most);
  [[nodiscard]] bool makes_room(const State& state, const Target& target, const Slot& run);
  [[nodiscard]] bool clear_server(const State& state, const Target& target, Actions& actions);
  [[nodiscard]] bool place_moved(Occupancy& plan, const State& state);
  void carry_out(const State& state, const Target& target, Actions& actions);
  void give_up(const State& state, Actions& actions);

  Ref<Placement> placement_;
  std::optional<ControlCheck> own_stop_;
  Ref<StopCheck> stop_;
  std::vector<Target> targets_;
  std::vector<Part> parts_;
  std::vector<Part> held_;
  std::vector<Target> changed_;
  std::vector<JobId> refused_;
  std::vector<JobId> moved_;
  std::vector<JobId> others_;
  std::vector<const Slot*> movable_;
  std::vector<Move> moves_;
  std::vector<Vacancy> vacancies_;
  std::optional<Occupancy> without_;  // a plan, and what it becomes; both kept for their memory
  std::optional<Occupancy> plan_;
  std::vector<std::size_t> order_;
  Allocation allocation_;
  Allocation piece_;
};

}  // namespace gpusched
