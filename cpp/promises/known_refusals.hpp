#pragma once

#include <map>
#include <vector>

#include "promises/progressive_filling.hpp"

namespace gpusched {

/// Plans of newcomers beside which not all claims of a line could be planned. Where a plan comes
/// again ahead of the first claim that it pushes aside, all goes the same way.
class KnownRefusals {
 public:
  /// Keys of claims.
  struct Refusal {
    double newcomer;
    double pushed;  ///< the first that changed its plan, or failed
    double failed;  ///< the one that could not be planned
  };

  void clear() noexcept;
  /// One is kept for each plan. All plans of a line begin with the same slot.
  void add(const SlotPlan& plan, const Refusal& refusal);
  /// Whether a newcomer with that plan is refused for a reason known already.
  [[nodiscard]] bool has(const SlotPlan& plan, double key) const;
  /// A claim joined behind those with its key or a lesser one: nothing changes before it.
  void forget_behind(double key);

 private:
  using ByPlan = std::map<std::vector<SlotPlan::Stretch>, Refusal>;

  ByPlan by_plan_;
  std::multimap<double, ByPlan::iterator> by_failed_;
};

}  // namespace gpusched
