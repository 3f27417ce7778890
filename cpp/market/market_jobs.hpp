#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "elastic/lines_by_need.hpp"
#include "elastic/reallocation.hpp"
#include "market/one_type_search.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// GPUs of one type in servers of one size: interchangeable in a market. A pool is one class.
struct GpuClass {
  int type;
  int server_gpus;
  std::int32_t gpus;
};

/// The waiting and running jobs, and their rates: as sums of single GPUs if types add up, otherwise
/// as widths on one type.
class MatchingJobs {
 public:
  /// The stable index of a job while it lives.
  using Row = std::uint32_t;
  /// The properties of a waiting job that decide whether its minimum width fits.
  struct Need {
    int least;
    TypeMask types;  ///< those that it can use
    bool goes_to_market;

    auto operator<=>(const Need&) const = default;
  };
  struct Job {
    JobId id = kNoJob;
    int least = 1;  ///< widths it may have
    int most = 1;
    /// Service per time of one GPU of each type, at the job's own width or the nearest possible.
    std::vector<double> gpu_rate;
    TypeMask usable = 0;   ///< the types with a rate above 0
    double mean_rate = 0;  ///< over all GPUs that it can use
    /// On k GPUs with rates that sum up to s: time per service is 1 / s + exchange (k - 1) / k.
    double exchange = 0;
    /// If types do not add up: by type, then by width, wider is faster; the cost is time per
    /// service. Empty if no single type holds the job.
    std::vector<OneTypeSearch::Option> widths;
    double restart_s = 0;
    /// At the present instant.
    double remaining_s = 0;
    bool is_running = false;
    bool is_settling = false;  ///< it pays for a restart and has done nothing since
    /// Service per time since the last decision, if it held the same GPUs all the while; else 0.
    double seen_rate = 0;
    std::uint32_t line = 0;  ///< while it waits

    [[nodiscard]] double gpu_time() const noexcept { return remaining_s / mean_rate; }
  };
  using Lines = LinesByNeed<Need, Row>;

  /// All jobs by the GPU time left, at the mean rate, then by JobId.
  class InOrder {
   public:
    explicit InOrder(const MatchingJobs& jobs) : running_(jobs.running_), waiting_(jobs.waiting_) {}

    /// The next job; among waiting ones, the next with a need that `fits`. A refused need must
    /// not fit later.
    template <class Fits>
    [[nodiscard]] std::optional<Row> next(Fits fits) {
      const Lines::Entry* waiting = waiting_.first(fits);
      if (!running_.empty() && (waiting == nullptr || running_.front() < *waiting)) {
        const Row row = running_.front().item;
        running_ = running_.subspan(1);
        return row;
      }
      if (waiting == nullptr) return std::nullopt;
      const Row row = waiting->item;
      waiting_.pop();
      return row;
    }
    [[nodiscard]] std::optional<Row> next() {
      return next([](const Need&) { return true; });
    }

   private:
    std::span<const Lines::Entry> running_;
    Lines::Walk waiting_;
  };

  /// `keeps_widths`: at their own widths alone.
  void begin(const Setup& setup, bool keeps_widths);
  /// Forgets the finished, takes up the arrived, and looks at the clock.
  void open(const State& state, const Instant& instant);
  /// A job is taken back while it waits.
  void forget(JobId id);

  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size() - free_rows_.size(); }
  /// Rows are below this.
  [[nodiscard]] std::size_t num_rows() const noexcept { return jobs_.size(); }
  [[nodiscard]] const Job& at(Row row) const noexcept { return jobs_[row]; }
  [[nodiscard]] InOrder in_order() const { return InOrder(*this); }
  /// The running jobs, in the same order.
  [[nodiscard]] std::span<const Lines::Entry> running() const noexcept { return running_; }

  /// Whether a job may use several types, which then add up.
  [[nodiscard]] bool is_additive() const noexcept { return is_additive_; }
  /// By type, then by size.
  [[nodiscard]] std::span<const GpuClass> classes() const noexcept { return classes_; }
  [[nodiscard]] std::span<const std::int32_t> gpus_of_type() const noexcept { return gpus_; }
  /// Whether a market can place the job: false for jobs that no single type holds if types do not
  /// add up.
  [[nodiscard]] bool goes_to_market(Row row) const noexcept {
    return is_additive_ || !jobs_[row].widths.empty();
  }
  /// GPUs of each class that a running job holds, added to `counts`.
  void count_held(const State& state, const Job& job, std::span<std::int32_t> counts) const;
  /// Whether the job may run on these GPUs.
  [[nodiscard]] bool is_possible(const State& state, const Job& job,
                                 std::span<const Part> parts) const;
  [[nodiscard]] static double seconds(Time time) noexcept {
    return static_cast<double>(time.count()) / 1e6;
  }
  /// Time per service on these GPUs, where types add up.
  [[nodiscard]] static double seconds_per_service(const Job& job, std::span<const Part> parts);

 private:
  [[nodiscard]] Lines::Entry entry_of(Row row) const noexcept {
    return {key_of(jobs_[row].gpu_time()), jobs_[row].id, row};
  }
  void take_up(const State& state, JobId id);
  void line_up(const State& state, Row row);
  void take_out(Row row);
  /// Updates the running jobs with their progress since the last call.
  void watch_running(const State& state);
  [[nodiscard]] Job describe(const State& state, JobId id) const;
  void describe_sums(const State& state, Job& job) const;
  void describe_widths(const State& state, Job& job) const;
  void describe_any(const State& state, Job& job) const;
  /// From the rates of its GPUs.
  void find_mean_rate(Job& job) const;

  bool keeps_widths_ = false;
  bool is_pooled_ = false;
  bool is_additive_ = true;
  std::vector<GpuClass> classes_;
  std::vector<std::int32_t> class_of_server_;
  std::vector<std::int32_t> gpus_;  // of each type
  std::vector<ServerId> server_of_type_;  // some server of it
  std::vector<Job> jobs_;  // by row
  std::vector<Row> free_rows_;
  std::vector<Row> row_of_;  // of each JobId so far
  std::vector<Lines::Entry> running_;
  std::vector<Lines::Entry> ran_;  // the last time
  Lines waiting_;
  Time opened_{0};
};

}  // namespace gpusched
