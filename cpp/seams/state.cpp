#include "seams/state.hpp"

#include <algorithm>

namespace gpusched {

std::int64_t State::remaining_ticks(JobId job) const noexcept {
  const double done =
      is_running(job) ? paces_[records_[job].slot].done_at(now_) : progress_[job].done;
  // Kept as an integer: with overruns it may be beyond 2^53.
  if (done == 0.0) return (jobs_.service(job) + records_.history(job).redo).count();
  return std::max<std::int64_t>(1, ceil_ticks(work(job) - done));
}

double State::rate(JobId job, int type, int gpus) const {
  const TypeMask types = jobs_.types(job) & cluster().all_types();
  if ((types >> type & 1) == 0 || gpus < min_gpus(job) || gpus > max_gpus(job)) return 0.0;
  return speed_->is_elastic() ? speed_->ideal_s(job) / speed_->uniform_s(job, type, gpus) : 1.0;
}

}  // namespace gpusched
