#pragma once

#include <algorithm>
#include <set>
#include <utility>

#include "elastic/elastic_jobs.hpp"

namespace gpusched {

/// The ends of leases: until then jobs keep their GPUs. A job stores its end in `line_key`, which
/// is free because a job with GPUs is in no line.
class Leases {
 public:
  void clear() noexcept { leases_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return leases_.empty(); }
  /// When the next one ends; there is one.
  [[nodiscard]] Time first_end() const { return leases_.begin()->first; }

  /// Removes a job with GPUs that has ended.
  void forget(const ElasticJobs::Job& job) { leases_.erase({Time{job.line_key}, job.id}); }

  /// Makes the GPUs of expired leases available and visits their jobs.
  template <class Visit>
  void end(Time now, ElasticJobs& jobs, Visit visit) {
    for (auto at = leases_.begin(); at != leases_.end() && at->first <= now;) {
      ElasticJobs::Job& job = jobs.job(at->second);
      at = leases_.erase(at);
      jobs.withdraw(job);
      visit(job);
    }
  }

  /// After ElasticJobs::apply: one for each job that was given GPUs, of `length(job)`. One that a
  /// restart began counts from when the restart is paid, so that it has a use.
  template <class Length>
  void begin(const State& state, const ElasticJobs& jobs, Length length) {
    for (ElasticJobs::Job* job : jobs.touched()) {
      if (job->held.empty()) continue;
      const Slot& run = state.slot(job->id);
      const Time end = std::max(state.now(), run.paid_at()) + length(*job);
      job->line_key = end.count();
      leases_.emplace(end, job->id);
    }
  }

 private:
  std::set<std::pair<Time, JobId>> leases_;  // of the running jobs, by their ends
};

}  // namespace gpusched
