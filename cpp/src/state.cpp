#include "gpusched/state.hpp"

#include <algorithm>

namespace gpusched {

std::int64_t State::remaining_ticks(JobId job) const noexcept {
  const double done =
      is_running(job) ? paces_[records_[job].slot].done_at(now_) : progress_[job].done;
  return std::max<std::int64_t>(1, ceil_ticks(work(job) - done));
}

}  // namespace gpusched
