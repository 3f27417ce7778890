#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elastic/reallocation.hpp"
#include "market/one_type_search.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// GPUs of one type in servers of one size: a market does not tell them apart. A pool is one class.
struct GpuClass {
  int type;
  int server_gpus;
  std::int32_t gpus;
};

/// The jobs that wait or run, and what GPUs make of them: as sums of single GPUs where a gang of
/// several types adds up, as widths on one type where it does not.
class MatchingJobs {
 public:
  struct Job {
    JobId id = 0;
    int least = 1;  ///< widths it may have
    int most = 1;
    /// Service per time of one GPU of each type, at the job's own width or the nearest possible.
    std::vector<double> gpu_rate;
    double mean_rate = 0;  ///< over all GPUs that it can use
    /// Of k GPUs with rates that sum up to s: time per service is 1 / s + exchange (k - 1) / k.
    double exchange = 0;
    /// Where types do not add up: by type, then by width, a wider one faster; the cost is time per
    /// service. Empty where no type alone holds the gang.
    std::vector<OneTypeSearch::Option> widths;
    /// At the present instant.
    double remaining_s = 0;
    double restart_s = 0;
    bool is_running = false;
    bool is_settling = false;  ///< it pays for a restart and has done nothing since
    /// Service per time since the last decision, if it held the same GPUs all the while; else 0.
    double seen_rate = 0;

    [[nodiscard]] double gpu_time() const noexcept { return remaining_s / mean_rate; }
  };

  /// `keeps_widths`: at their own widths alone.
  void begin(const Setup& setup, bool keeps_widths);
  /// Forgets the finished, takes up the arrived, and looks at the clock.
  void open(const State& state, const Instant& instant);
  /// A job is taken back while it waits.
  void forget(JobId id) {
    std::erase_if(jobs_, [&](const Job& job) { return job.id == id; });
  }

  [[nodiscard]] bool empty() const noexcept { return jobs_.empty(); }
  /// By JobId.
  [[nodiscard]] std::span<const Job> all() const noexcept { return jobs_; }
  /// By the GPU time left, at the mean rate; indices into `all`.
  [[nodiscard]] std::span<const std::uint32_t> in_order() const noexcept { return order_; }

  /// Whether gangs may be of several types, which add up.
  [[nodiscard]] bool is_additive() const noexcept { return is_additive_; }
  /// By type, then by size.
  [[nodiscard]] std::span<const GpuClass> classes() const noexcept { return classes_; }
  [[nodiscard]] std::span<const std::int32_t> gpus_of_type() const noexcept { return gpus_; }
  /// GPUs of each class that a running job holds, added to `counts`.
  void count_held(const State& state, const Job& job, std::span<std::int32_t> counts) const;
  /// Whether the job may run on these GPUs.
  [[nodiscard]] bool is_possible(const State& state, const Job& job,
                                 std::span<const Part> parts) const;
  /// Time per service on these GPUs, where types add up.
  [[nodiscard]] static double seconds_per_service(const Job& job, std::span<const Part> parts);

 private:
  [[nodiscard]] Job describe(const State& state, JobId id) const;
  void describe_sums(const State& state, Job& job) const;
  void describe_widths(const State& state, Job& job) const;
  void describe_any(const State& state, Job& job) const;
  void find_mean_rate(Job& job) const;

  bool keeps_widths_ = false;
  bool is_pooled_ = false;
  bool is_additive_ = true;
  std::vector<GpuClass> classes_;
  std::vector<std::int32_t> class_of_server_;
  std::vector<std::int32_t> gpus_;  // of each type
  std::vector<ServerId> server_of_type_;  // some server of it
  std::vector<Job> jobs_;
  std::vector<std::uint32_t> order_;
  Time opened_{0};
};

}  // namespace gpusched
