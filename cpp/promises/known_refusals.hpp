#pragma once

#include <cstddef>
#include <vector>

#include "promises/progressive_filling.hpp"

namespace gpusched {

/// Plans of newcomers beside which not all claims of a line could be planned. Where a plan comes
/// again ahead of the first claim that it pushes aside, all goes the same way.
class KnownRefusals {
 public:
  struct Refusal {
    SlotPlan plan;
    double newcomer;  ///< key of a claim with that plan
    double pushed;    ///< of the first claim that changed its plan, or failed
    double failed;    ///< of the claim that could not be planned
  };

  void clear() noexcept { known_.clear(); }
  void add(Refusal refusal);
  /// Whether a newcomer with that plan is refused for a reason known already.
  [[nodiscard]] bool has(const SlotPlan& plan, double key) const;
  /// A claim joined behind those with its key or a lesser one: nothing changes before it.
  void forget_behind(double key);

 private:
  std::vector<Refusal> known_;  // the last one was found last
};

}  // namespace gpusched
