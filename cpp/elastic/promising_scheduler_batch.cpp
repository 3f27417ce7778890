#include <algorithm>
#include <map>

#include "elastic/promising_scheduler.hpp"

namespace gpusched {

/// All or none: the program of the authors declines every job of a slot if one cannot be met.
void PromisingScheduler::consider_batch(const State& state) {
  std::map<JobId, SlotPlan> before;
  for (const auto& [id, promise] : promises_) before.emplace(id, promise.plan);
  const std::size_t num_before = decisions_.size();
  for (const JobId id : batch_) {
    control_->check();
    consider(state, jobs_.job(id));
  }
  batch_.clear();
  const auto judged = decisions_.begin() + static_cast<std::ptrdiff_t>(num_before);
  if (std::all_of(judged, decisions_.end(), [](const Decision& one) { return one.is_admitted; })) {
    return;
  }
  close_lines();
  std::erase_if(promises_, [&](const auto& entry) { return !before.contains(entry.first); });
  for (auto& [id, promise] : promises_) promise.plan = before.find(id)->second;
  for (auto decision = judged; decision != decisions_.end(); ++decision) {
    if (!decision->is_admitted) continue;
    decision->is_admitted = false;
    decision->reason = "another job of its slot cannot be met";
  }
}

}  // namespace gpusched
