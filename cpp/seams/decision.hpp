#pragma once

#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// The last admission decision on a job, and its reason.
struct Decision {
  JobId job = kNoJob;
  Time at{0};
  bool is_admitted = false;
  /// Cost of the cheapest schedule found that meets the deadline; infinity if there is none.
  double cost = 0.0;
  /// Value of meeting the deadline.
  double value = 0.0;
  /// value - cost of an admitted job, else 0.
  double payoff = 0.0;
  /// A word or two, the same for all jobs that were treated alike: a string literal.
  const char* reason = "";
  /// For a job that was not admitted: the GPU type and the time of the most expensive or exhausted
  /// GPUs among those that it could use; -1 if not applicable.
  int type = -1;
  Time from{0};
  Time until{0};
};

}  // namespace gpusched
