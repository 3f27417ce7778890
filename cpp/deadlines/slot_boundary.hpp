#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clone.hpp"
#include "deadlines/admission.hpp"
#include "deadlines/job_ledger.hpp"
#include "deadlines/slot_filling.hpp"
#include "elastic/reallocation.hpp"
#include "seams/actions.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// What `dancer` does at the start of a slot: replans jobs that fell behind or can be planned at
/// lower cost, offers declined jobs again, and gives unreserved GPUs to jobs with promises, then to
/// those that can still meet their deadlines, then to the rest by arrival. Only then does it choose
/// the GPUs.
class SlotBoundary {
 public:
  struct Rules {
    bool replans;
    bool fills;
    bool retries;
    std::int64_t num_replans;  ///< in each slot, as `num_retries`
    std::int64_t num_retries;
  };

  SlotBoundary(DancerLedger& book, Admission& admission, const Rules& rules);

  void begin(const Setup& setup);
  void pass(const State& state, Actions& actions);

 private:
  using Index = DancerLedger::Index;

  void review(const State& state);
  void keep(const State& state, Index index);
  [[nodiscard]] bool repair(const PlanQuery& query, DancerJob& job);
  void replan(const State& state);
  void retry(const State& state);
  void sort_open(const State& state);
  void keep_open();
  void hand_out(const State& state);
  void hand_out_rest(const State& state);
  void apply(const State& state, Actions& actions);
  void sort_out_stopped();
  [[nodiscard]] bool may_move(const State& state, JobId job);

  Ref<DancerLedger> book_;
  Ref<Admission> admission_;
  Rules rules_;
  Owned<Placement> anywhere_;  // declared before its users
  Reallocation reallocation_;
  std::size_t replan_turn_ = 0;
  std::size_t retry_turn_ = 0;
  SlotFilling filling_;
  std::vector<FillJob> fill_;
  std::vector<Index> filled_;  // of each entry of fill_
  std::size_t first_waiting_ = 0;  // of those without a promise, in fill_
  std::vector<std::int64_t> spare_;
  std::vector<PlanStep> steps_;
};

}  // namespace gpusched
