#pragma once

#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "deadlines/intra_slot.hpp"
#include "deadlines/job_ledger.hpp"
#include "deadlines/slot_exchange.hpp"
#include "seams/actions.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Which jobs the policy dancer promises their deadlines to: those that pay the price of the GPUs
/// that they need with the value of meeting it.
class Admission {
 public:
  using Index = DancerLedger::Index;

  /// `exchanges`: a newcomer may get the present slot of jobs that can do without it.
  Admission(DancerLedger& book, IntraSlot& within, bool exchanges)
      : book_(book), within_(within), exchanges_(exchanges) {}

  void begin() { exchange_.begin(*book_->planner, book_->jobs, *book_->control); }

  /// Decides on the jobs that have just arrived, those of the greatest value for their work first.
  void receive(const State& state, std::span<const JobId> arrived, Actions& actions);
  /// Promises an open job its deadline after all, if it pays for a plan by now.
  void offer_again(const State& state, Index index);

 private:
  void offer_first(const State& state, Index index, Actions& actions);

  Ref<DancerLedger> book_;
  Ref<IntraSlot> within_;
  bool exchanges_;
  SlotExchange exchange_;
  std::vector<PlanStep> steps_;
  std::vector<std::pair<double, Index>> urgency_;
};

}  // namespace gpusched
