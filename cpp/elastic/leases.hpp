#pragma once

#include <algorithm>
#include <set>
#include <utility>

#include "elastic/elastic_jobs.hpp"

namespace gpusched {

/// Until when jobs may hold their GPUs. When a lease ends stands with the job, too, in its
/// `line_key`: a job that holds GPUs stands in no line.
class Leases {
 public:
  void clear() noexcept { leases_.clear(); }
  [[nodiscard]] bool empty() const noexcept { return leases_.empty(); }
  /// When the next one ends; there is one.
  [[nodiscard]] Time first_end() const { return leases_.begin()->first; }

  /// Of a job that holds GPUs and is no more.
  void forget(const ElasticJobs::Job& job) { leases_.erase({Time{job.line_key}, job.id}); }

  /// Takes their GPUs back from those whose lease has run out, and shows each of them.
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
