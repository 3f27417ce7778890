#include "elastic/promising_scheduler.hpp"

namespace gpusched {

/// Leaves the job the type on which it is fastest at its own width, or at all if it fits none;
/// of equals the one that the fewest GPUs' worth of jobs per GPU are pinned to.
void PromisingScheduler::pin(const State& state, ElasticJobs::Job& job) {
  if (job.is_mixed()) return;
  const int own = state.jobs().gpus(job.id);
  const auto load = [&](int type) {
    return static_cast<double>(pinned_gpus_[static_cast<std::size_t>(type)]) /
           static_cast<double>(jobs_.total(type));
  };
  // The own width is not among the configurations where a narrower one is as fast.
  const auto own_rate = [&](int type) {
    return own <= jobs_.total(type) ? state.rate(job.id, type, own) : 0.0;
  };
  const Configuration* best = nullptr;
  for (const Configuration& known : job.configurations) {
    if (best == nullptr || known.type == best->type) {
      if (best == nullptr || known.rate > best->rate) best = &known;
      continue;
    }
    const double rate = own_rate(known.type);
    const double best_rate = own_rate(best->type);
    const bool is_better = rate != best_rate          ? rate > best_rate
                           : rate > 0.0               ? load(known.type) < load(best->type)
                           : known.rate != best->rate ? known.rate > best->rate
                                                      : load(known.type) < load(best->type);
    if (is_better) best = &known;
  }
  const int type = best->type;
  std::erase_if(job.configurations, [&](const Configuration& known) { return known.type != type; });
  pinned_type_[job.id] = type;
  pinned_gpus_[static_cast<std::size_t>(type)] += own;
}

void PromisingScheduler::unpin(JobId job) {
  const auto pinned = pinned_type_.find(job);
  if (pinned == pinned_type_.end()) return;
  pinned_gpus_[static_cast<std::size_t>(pinned->second)] -= state_->jobs().gpus(job);
  pinned_type_.erase(pinned);
}

}  // namespace gpusched
