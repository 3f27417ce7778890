#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"

namespace gpusched {

/// One decision: which workers each of `num_jobs` jobs holds from now on. Workers of a class are
/// identical (one GPU type in one kind of server). Matrices are by job, num_jobs x num_classes; an
/// empty span means the default given after it. All is borrowed.
struct MatchingProblem {
  std::int32_t num_jobs = 0;
  std::int32_t num_classes = 0;
  std::span<const double> rate;            ///< samples/s of one worker; 0: cannot run there
  std::span<const std::int32_t> capacity;  ///< workers of each class
  std::span<const double> rounds;          ///< left to do, of each job
  std::span<const double> samples;         ///< of a round
  std::span<const double> gradient_bytes;  ///< of a round; empty: 0
  std::span<const double> bytes_per_s;     ///< slowest link of the ring; empty: infinite
  std::span<const double> waiting_s;       ///< that a job has behind it; empty: 0
  std::span<const double> restart_s;       ///< cost of a change of its workers; empty: 0
  std::span<const std::int32_t> previous;  ///< workers held so far; empty: none
  std::span<const std::int32_t> min_workers;  ///< empty: 1
  std::span<const std::int32_t> max_workers;  ///< empty: no limit
  std::span<const double> max_samples;     ///< a worker's memory, 0: no limit; empty: 0
};

/// How a job divides a round among its workers.
enum class BatchSplit : std::uint8_t { proportional, equal };

/// The objective of a decision.
struct MatchingGoal {
  BatchSplit split = BatchSplit::proportional;
  double beta = 1.0;   ///< 1: mean completion time alone; less: fairness counts as well
  double guard = 0.25;  ///< a job has at least this part of an equal share; 0: off
};

/// A decision as the search sees it: the jobs that can have workers, renumbered, and what a number
/// of workers of each class makes of them. A job's seconds are
///   rounds x (slowest worker's samples / its rate + 2 (k - 1) / k gradient / bandwidth)
///   + waiting + restart if its workers are not those it held.
class MarketModel {
 public:
  /// The sums over jobs that the score needs.
  struct Sums {
    double seconds = 0;
    double ratio = 0;   // to the seconds in equal shares
    double square = 0;  // of the ratio
  };

  /// Chooses the jobs: those with the least remaining work (at mean rate, ties to the lower index)
  /// as long as each can have its minimum number of workers at once; the others wait. Does not
  /// allocate if an earlier problem was as large. Throws InvalidInput that names field, row and
  /// rule for values out of range, and if no job can run.
  void load(const MatchingProblem& problem, const MatchingGoal& goal);
  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  [[nodiscard]] std::size_t num_jobs() const noexcept { return chosen_.size(); }
  [[nodiscard]] std::size_t num_classes() const noexcept { return num_classes_; }
  [[nodiscard]] std::int32_t num_workers() const noexcept { return num_workers_; }
  /// Indices into the problem, ascending.
  [[nodiscard]] std::span<const std::int32_t> chosen() const noexcept { return chosen_; }
  [[nodiscard]] std::span<const std::int32_t> capacity() const noexcept { return capacity_; }
  /// Workers without which a job cannot run.
  [[nodiscard]] std::span<const std::int32_t> minimum() const noexcept { return minimum_; }
  /// The same, or more where fairness is guarded.
  [[nodiscard]] std::span<const std::int32_t> least() const noexcept { return least_; }
  [[nodiscard]] std::span<const std::int32_t> most() const noexcept { return most_; }
  /// Some workers of each job, so that all of them run; by job, jobs x classes.
  [[nodiscard]] std::span<const std::int32_t> base() const noexcept { return base_; }
  [[nodiscard]] std::span<const std::int32_t> previous() const noexcept { return previous_; }
  [[nodiscard]] bool has_previous() const noexcept { return has_previous_; }
  /// Whether a decision that leaves workers idle might be the best one.
  [[nodiscard]] bool idle_may_help() const noexcept { return idle_may_help_; }

  [[nodiscard]] double rate(std::size_t job, std::size_t type) const noexcept {
    return rate_[job * num_classes_ + type];
  }
  [[nodiscard]] std::span<const double> rates(std::size_t job) const noexcept {
    return {rate_.data() + job * num_classes_, num_classes_};
  }
  /// Samples left: seconds of computing = work / sum of rates under a proportional split.
  [[nodiscard]] double work(std::size_t job) const noexcept { return work_[job]; }
  /// Over all workers that the job can use.
  [[nodiscard]] double mean_rate(std::size_t job) const noexcept { return mean_rate_[job]; }
  /// Seconds that do not depend on which workers the job has, only on how many: at least these.
  [[nodiscard]] double fixed_s(std::size_t job, std::int32_t workers) const noexcept;

  /// Seconds of a job with these workers of each class; infinite without any.
  [[nodiscard]] double job_s(std::size_t job, std::span<const std::int32_t> counts) const;
  /// Whether these seconds follow from the sum of the rates, the number of the workers and
  /// whether they are others than before: a proportional split without limits of memory.
  [[nodiscard]] bool is_plain() const noexcept {
    return goal_.split == BatchSplit::proportional && !has_limits_;
  }
  [[nodiscard]] double plain_job_s(std::size_t job, double sum_of_rates, std::int32_t workers,
                                   bool is_moved) const noexcept {
    const double width = workers;
    double seconds =
        work_[job] / sum_of_rates + waiting_s_[job] + exchange_s_[job] * (width - 1.0) / width;
    if (is_moved) seconds += restart_s_[job];
    return seconds;
  }
  [[nodiscard]] std::int32_t previous(std::size_t job, std::size_t type) const noexcept {
    return previous_[job * num_classes_ + type];
  }

  /// Seconds of each job in equal shares, against which fairness is measured.
  void set_equal_seconds(std::span<const double> seconds);
  [[nodiscard]] Sums sums_of(std::size_t job, double seconds) const noexcept {
    const double ratio = equal_s_.empty() ? 0.0 : seconds / equal_s_[job];
    return {seconds, ratio, ratio * ratio};
  }
  [[nodiscard]] double score(const Sums& sums) const noexcept;
  /// Jain's index of seconds / seconds in equal shares; 1 before those are known.
  [[nodiscard]] double fairness(const Sums& sums) const noexcept;
  /// Lower bound on the score of any decision whose mean completion time is at least `mean_s`.
  [[nodiscard]] double least_score(double mean_s) const noexcept { return goal_.beta * mean_s; }

 private:
  void check(const MatchingProblem& problem, const MatchingGoal& goal) const;
  void choose(const MatchingProblem& problem);
  bool admit(const MatchingProblem& problem, std::size_t job, std::int32_t workers);
  bool place_one(const MatchingProblem& problem, std::size_t job);
  void limit(const MatchingProblem& problem);
  [[nodiscard]] double compute_s(std::size_t job, std::span<const std::int32_t> counts) const;
  [[nodiscard]] double capped_s(std::size_t job, std::span<const std::int32_t> counts,
                                std::int32_t workers) const;
  [[nodiscard]] bool is_moved(std::size_t job, std::span<const std::int32_t> counts) const noexcept;

  MatchingGoal goal_;
  std::size_t num_classes_ = 0;
  std::int32_t num_workers_ = 0;
  bool has_previous_ = false;
  bool has_limits_ = false;
  bool idle_may_help_ = false;

  std::vector<std::int32_t> chosen_;
  std::vector<std::int32_t> capacity_;
  std::vector<std::int32_t> minimum_, least_, most_;
  std::vector<double> rate_, work_, mean_rate_;
  std::vector<double> exchange_s_;  // of all rounds over an endless ring
  std::vector<double> waiting_s_, restart_s_;
  std::vector<double> rounds_, samples_, max_samples_;
  std::vector<std::int32_t> previous_, previous_workers_;
  std::vector<double> equal_s_;

  // While jobs are chosen: by index of the problem.
  std::vector<std::int32_t> order_, held_, free_, base_, before_, by_;
  std::vector<double> alone_s_;
  Ref<StopCheck> stop_;
};

}  // namespace gpusched
