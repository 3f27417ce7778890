#include "market/targets.hpp"

#include <algorithm>

namespace gpusched {

void MatchingTargets::open(const State& state, const MatchingJobs& jobs) {
  jobs_ = &jobs;
  for (const Row job : given_) targets_[job].clear();
  for (const Row job : holders_) held_[job].clear();
  given_.clear();
  holders_.clear();
  if (targets_.size() < jobs.num_rows()) {
    targets_.resize(jobs.num_rows());
    held_.resize(jobs.num_rows());
  }
  idle_.assign(jobs.gpus_of_type().begin(), jobs.gpus_of_type().end());
  for (const auto& [key, id, job] : jobs.running()) {
    const Slot& run = state.slot(id);
    parts_of(state.cluster(), run.gpus, run.pieces, held_[job]);
    holders_.push_back(job);
  }
}

bool MatchingTargets::is_anything_idle() const noexcept {
  return std::any_of(idle_.begin(), idle_.end(), [](std::int32_t gpus) { return gpus > 0; });
}

void MatchingTargets::add(const Part& more, std::vector<Part>& parts) {
  const auto at = std::lower_bound(parts.begin(), parts.end(), more,
                                   [](const Part& a, const Part& b) { return a.type < b.type; });
  if (at != parts.end() && at->type == more.type) {
    at->gpus += more.gpus;
  } else {
    parts.insert(at, more);
  }
}

void MatchingTargets::settle(Row job) {
  if (targets_[job].empty()) return;
  take(targets_[job]);
  given_.push_back(job);
}

void MatchingTargets::take(std::span<const Part> parts) {
  for (const Part& part : parts) idle_[static_cast<std::size_t>(part.type)] -= part.gpus;
}

void MatchingTargets::give(const State& state, Row job, std::span<const Part> parts) {
  std::vector<Part>& target = targets_[job];
  target.clear();
  for (const Part& part : parts) add(part, target);
  const bool is_same = target == held_[job];
  if (!target.empty() && !is_same && !jobs_->is_possible(state, job_at(job), target)) {
    target.clear();
  }
  settle(job);
}

bool MatchingTargets::give_only_widths(const State& state, std::span<const Row> jobs) {
  const bool is_only = jobs_->is_additive() && jobs_->classes().size() == 1 &&
                       std::all_of(jobs.begin(), jobs.end(),
                                   [&](Row job) { return job_at(job).least == job_at(job).most; });
  if (!is_only) return false;
  for (const Row job : jobs) {
    const Part all{jobs_->classes().front().type, job_at(job).least};
    give(state, job, {&all, 1});
  }
  return true;
}

void MatchingTargets::give_idle(const State& state, Row job) {
  const MatchingJobs::Job& own = job_at(job);
  std::vector<Part>& target = targets_[job];
  if (own.widths.empty()) {
    gather(own, target);
    if (!target.empty() && !jobs_->is_possible(state, own, target)) target.clear();
  } else {
    const OneTypeSearch::Option* best = nullptr;
    for (const OneTypeSearch::Option& width : own.widths) {
      if (width.gpus > idle_[static_cast<std::size_t>(width.type)]) continue;
      if (best == nullptr || width.cost < best->cost) best = &width;
    }
    if (best != nullptr) target.push_back({best->type, best->gpus});
  }
  settle(job);
}

/// The minimum width on idle GPUs, the fastest type first; none if they do not suffice.
void MatchingTargets::gather(const MatchingJobs::Job& job, std::vector<Part>& parts) const {
  int missing = job.least;
  while (missing > 0) {
    Part best{-1, 0};
    for (std::size_t at = 0; at < idle_.size(); ++at) {
      const auto type = static_cast<int>(at);
      const bool is_taken = std::any_of(parts.begin(), parts.end(),
                                        [&](const Part& part) { return part.type == type; });
      if (is_taken || idle_[at] == 0 || !(job.gpu_rate[at] > 0)) continue;
      if (best.type >= 0 && job.gpu_rate[at] <= job.gpu_rate[static_cast<std::size_t>(best.type)]) {
        continue;
      }
      best = {type, std::min(missing, idle_[at])};
    }
    if (best.type < 0) {
      parts.clear();
      return;
    }
    add(best, parts);
    missing -= best.gpus;
  }
}

void MatchingTargets::grow(const State& state, std::span<const Row> jobs,
                           std::span<const double> weight, double least_gain) {
  while (is_anything_idle()) {
    double most = 0;
    Row winner = 0;
    Part gift{0, 0};
    for (std::size_t at = 0; at < jobs.size(); ++at) {
      const Row job = jobs[at];
      const MatchingJobs::Job& own = job_at(job);
      const std::vector<Part>& target = targets_[job];
      int width = 0;
      for (const Part& part : target) width += part.gpus;
      if (width == 0 || width >= own.most) continue;
      const double now = own.remaining_s * MatchingJobs::seconds_per_service(own, target);
      const double pays = target == held_[job] ? own.restart_s : 0.0;
      for (std::size_t type = 0; type < idle_.size(); ++type) {
        const Part more{static_cast<int>(type), std::min(idle_[type], own.most - width)};
        if (more.gpus == 0 || !(own.gpu_rate[type] > 0)) continue;
        wider_ = target;
        add(more, wider_);
        const double then = own.remaining_s * MatchingJobs::seconds_per_service(own, wider_) + pays;
        const double gain = weight[at] * (now - then);
        if (!(now - then > least_gain * now) || !(gain > most)) continue;
        if (!jobs_->is_possible(state, own, wider_)) continue;
        most = gain;
        winner = job;
        gift = more;
      }
    }
    if (gift.gpus == 0) return;
    add(gift, targets_[winner]);
    take({&gift, 1});
  }
}

}  // namespace gpusched
