#pragma once

#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "deadlines/job_ledger.hpp"
#include "seams/actions.hpp"
#include "seams/placement.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The part of `dancer` within a slot: starts jobs on GPUs that are free, or held without a
/// promise.
class IntraSlot {
 public:
  using Index = DancerLedger::Index;

  /// `fills`: jobs with promises start before their plans say so.
  IntraSlot(DancerLedger& book, bool fills) : book_(book), fills_(fills) {}

  void begin(Placement& placement) noexcept { placement_ = &placement; }

  /// Whether some configuration has GPUs that are free, or that jobs hold without a promise.
  [[nodiscard]] bool might_start(const State& state, const PlanQuery& query);
  /// A job that was just admitted starts within the slot; those that hold GPUs without a promise
  /// make room.
  [[nodiscard]] bool start_now(const State& state, Index index, int configuration,
                               Actions& actions);
  /// Starts jobs on free GPUs until the boundary: first those that might still meet their
  /// deadlines, then those whose plans continue at the boundary, then the rest by arrival.
  void start_waiting(const State& state, Actions& actions);
  /// Jobs that no single type can run have no plans: they run only if no other job can.
  void start_on_several_types(const State& state, Actions& actions);

 private:
  [[nodiscard]] bool give_back(const State& state, Index index, Actions& actions);
  [[nodiscard]] bool start(const State& state, Index index, int configuration, Actions& actions);
  [[nodiscard]] bool place(const State& state, JobId job, const PlanConfiguration& configuration);
  [[nodiscard]] std::int64_t yielding_gpus(const State& state, JobId several, int type) const;
  void find_yielding(const State& state, int type);
  void count_spare(const State& state);

  Ref<DancerLedger> book_;
  bool fills_;
  Ref<Placement> placement_;
  std::vector<Index> yielding_;
  std::vector<std::int64_t> spare_;
  Allocation allocation_;
};

}  // namespace gpusched
