#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/run_control.hpp"
#include "deadlines/dancer_jobs.hpp"
#include "deadlines/planner.hpp"
#include "seams/actions.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Makes room in the present slot for a newcomer: jobs with promises that do not need the slot
/// release their GPUs and are replanned from the next slot on.
class SlotExchange {
 public:
  using Index = std::uint32_t;  ///< of a job in `jobs`
  /// Starts the newcomer on one of its configurations; false if its GPUs cannot be had.
  using Start = std::function<bool(int configuration)>;

  void begin(DeadlinePlanner& planner, std::vector<DancerJob>& jobs, const RunControl& control);

  /// Returns whether the newcomer has started: it does if its value exceeds the cost of its plan
  /// plus the cost increase of the plans of the jobs that made room. Then `steps` and `cost` are
  /// its plan, not reserved yet; otherwise nothing changed, except that some of `live`, the jobs
  /// with promises, may wait for the next slot.
  [[nodiscard]] bool make_room(const State& state, std::span<const Index> live, Index newcomer,
                               const Start& start, Actions& actions, std::vector<PlanStep>& steps,
                               double& cost);

 private:
  /// To meet the newcomer's deadline on one type.
  struct Way {
    double gpu_time;
    int type;
    int gpus;
  };
  /// A job that makes room, and what it had.
  struct Displaced {
    Index index;
    std::int32_t held;
    bool is_moved;
    std::vector<PlanStep> steps;
  };

  void find_ways(const PlanQuery& query);
  void find_candidates(const State& state, std::span<const Index> live, const Way& way);
  [[nodiscard]] bool make_room_on(const State& state, const PlanQuery& query, const Start& start,
                                  Actions& actions, std::vector<PlanStep>& steps, double& cost);
  [[nodiscard]] bool move(const State& state, double most, Actions& actions);
  void move_back(Actions& actions);

  Ref<DeadlinePlanner> planner_;
  Ref<std::vector<DancerJob>> jobs_;
  Ref<const RunControl> control_;
  std::vector<Way> ways_;
  std::vector<std::pair<double, Index>> candidates_;
  std::vector<Displaced> displaced_;
  std::vector<PlanStep> steps_;
};

}  // namespace gpusched
