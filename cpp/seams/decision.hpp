#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// What a scheduler that admits jobs last said of one, and why.
struct Decision {
  JobId job = kNoJob;
  Time at{0};
  bool is_admitted = false;
  /// Of the cheapest schedule that was found to meet the deadline; infinity where there is none.
  double cost = 0.0;
  /// Of meeting the deadline.
  double value = 0.0;
  /// value - cost of an admitted job, else 0.
  double payoff = 0.0;
  /// A word or two, the same for all jobs that were treated alike: a string literal.
  const char* reason = "";
  /// For a job that was not admitted: the GPU type and the time at which GPUs are dearest, or
  /// gone, among those that it could use; -1 where that says nothing.
  int type = -1;
  Time from{0};
  Time until{0};
};

}  // namespace gpusched
