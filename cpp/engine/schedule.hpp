#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engine/interval_log.hpp"
#include "seams/decision.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// How a job ended; an unfinished one waited or ran when the run ended. Files store the numbers.
enum class Status : std::uint8_t { finished, rejected, unfinished, cancelled, killed, failed };

/// What a job lost to failures of servers, its time limit and its checkpoints.
struct JobLosses {
  std::int32_t failures = 0;  ///< failures of servers that ended a run
  std::int32_t num_useless = 0;  ///< of those since a run saved any work
  Time lost{0};                  ///< run time whose work was lost
  Time written{0};               ///< run time in which checkpoints were written
};

struct Counters {
  std::uint64_t num_instants = 0;
  std::uint64_t num_events = 0;
  std::uint64_t num_preemptions = 0;
  std::uint64_t max_running = 0;
  /// Rates that were looked at because a job started or a link's load changed, and of running jobs
  /// those that were found changed.
  std::uint64_t num_rates_computed = 0;
  std::uint64_t num_rates_changed = 0;
};

/// The outcome of a run: a record per job and the interval log.
class Schedule {
 public:
  Schedule(JobId num_jobs, JobRecords records, IntervalLog log, std::vector<double> uncontended_us,
           std::vector<std::int32_t> num_resizes, std::vector<JobLosses> losses,
           std::vector<std::int64_t> eligible_us, std::vector<Decision> decisions,
           Counters counters, std::vector<std::string> warnings)
      : num_jobs_(num_jobs),
        records_(std::move(records)),
        log_(std::move(log)),
        uncontended_us_(std::move(uncontended_us)),
        num_resizes_(std::move(num_resizes)),
        losses_(std::move(losses)),
        eligible_us_(std::move(eligible_us)),
        decisions_(std::move(decisions)),
        counters_(counters),
        warnings_(std::move(warnings)) {}

  /// Minimum memory of a run until its end, and of its outcome: a record of each job, and an
  /// interval of each that starts.
  [[nodiscard]] static constexpr std::size_t least_bytes(std::size_t num_jobs,
                                                         std::size_t num_started,
                                                         bool is_pooled) noexcept {
    return num_jobs * sizeof(JobRecord) + num_started * IntervalLog::bytes_of(is_pooled ? 0 : 1);
  }

  [[nodiscard]] JobId num_jobs() const noexcept { return num_jobs_; }
  [[nodiscard]] const JobRecord& record(JobId job) const noexcept { return records_[job]; }
  [[nodiscard]] JobHistory history(JobId job) const noexcept { return records_.history(job); }
  [[nodiscard]] Status status(JobId job) const noexcept;
  /// Time that each job's runs would have taken where they ran without contention; empty where no
  /// speed depends on the allocation.
  [[nodiscard]] const std::vector<double>& uncontended_us() const noexcept {
    return uncontended_us_;
  }
  /// Changes of allocation without a stop between.
  [[nodiscard]] int num_resizes(JobId job) const noexcept {
    return num_resizes_.empty() ? 0 : num_resizes_[job];
  }
  /// One per job; empty if the run had no outages and its jobs no limits.
  [[nodiscard]] const std::vector<JobLosses>& losses() const noexcept { return losses_; }
  /// When each job joined the queue; -1: it did not, -2: its dependencies can never be met. Empty if
  /// no job can be held or cancelled by its user.
  [[nodiscard]] const std::vector<std::int64_t>& eligible_us() const noexcept {
    return eligible_us_;
  }
  /// Admission decisions, one per job; empty for other schedulers.
  [[nodiscard]] const std::vector<Decision>& decisions() const noexcept { return decisions_; }
  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }
  /// The same with this as its only warning.
  [[nodiscard]] Schedule warned(std::string why) && {
    warnings_.assign(1, std::move(why));
    return std::move(*this);
  }
  /// How often a job held GPUs for a while, on one server or several.
  [[nodiscard]] std::size_t num_intervals() const noexcept { return log_.size(); }
  [[nodiscard]] std::vector<IntervalRow> intervals() const {
    return log_.rows(records_, num_jobs_);
  }
  /// The rejected jobs: job, reason, next job, ...
  [[nodiscard]] std::vector<std::int64_t> rejects() const;
  /// SHA-256 over the numbers of the intervals, then the rejects: eight bytes each, least
  /// significant first.
  [[nodiscard]] std::string digest() const;

 private:
  JobId num_jobs_;
  JobRecords records_;
  IntervalLog log_;
  std::vector<double> uncontended_us_;
  std::vector<std::int32_t> num_resizes_;
  std::vector<JobLosses> losses_;
  std::vector<std::int64_t> eligible_us_;
  std::vector<Decision> decisions_;
  Counters counters_;
  std::vector<std::string> warnings_;
};

}  // namespace gpusched
