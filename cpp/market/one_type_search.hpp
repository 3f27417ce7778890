#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Gives each job GPUs of one type, at one of its widths: if a job is as slow as its slowest GPU
/// and throughput saturates, a sum of single GPUs is meaningless. Local search on the sum of the
/// jobs' costs: one job moves to free GPUs, or two divide what they hold and what is free, on one
/// or two types. Does not allocate if an earlier problem was as large.
class OneTypeSearch {
 public:
  struct Option {
    int type;
    int gpus;
    double cost;  ///< of holding so many GPUs; any unit, finite
  };
  static constexpr std::int32_t kNone = -1;

  /// Starts with this many GPUs of each type, and no jobs.
  void begin(std::span<const std::int32_t> capacity);
  /// Its options by type, then by ascending width, each once. It holds nothing.
  void add(std::span<const Option> options);

  /// All hold nothing again.
  void clear();
  /// Gives the job the option instead of its present one; false, without effect, if the GPUs do not
  /// suffice.
  bool take(std::size_t job, std::int32_t option);
  /// Gives a job without GPUs the cheapest option of at most `most` GPUs that is free; ties to the
  /// first. False if there is none.
  bool take_cheapest(std::size_t job, int most);
  /// Lets jobs change to free GPUs, the greatest gain first, where that lowers the job's own cost
  /// by more than the part `least_gain`.
  void fill(double least_gain);
  /// Until no change of one job or of a pair lowers the sum, or `effort` pairs were tried.
  void improve(std::int64_t effort);

  [[nodiscard]] std::size_t num_jobs() const noexcept { return jobs_.size(); }
  /// Index among the job's options; kNone: it holds nothing.
  [[nodiscard]] std::int32_t held(std::size_t job) const noexcept { return jobs_[job].held; }
  [[nodiscard]] const Option& option(std::size_t job, std::int32_t index) const noexcept {
    return options_[jobs_[job].begin + static_cast<std::size_t>(index)];
  }
  [[nodiscard]] int free(int type) const noexcept { return free_[static_cast<std::size_t>(type)]; }
  /// The cost of all jobs; one without GPUs costs twice its most expensive option.
  [[nodiscard]] double cost() const noexcept;

 private:
  struct Job {
    std::size_t begin = 0;  // of its options
    std::size_t end = 0;
    double waiting_cost = 0;
    std::int32_t held = kNone;
    std::uint32_t changed = 0;
  };
  struct Change {
    double gain = 0;
    std::int32_t first = kNone;
    std::int32_t second = kNone;
  };

  [[nodiscard]] std::int32_t best_within(std::size_t job, int type, int gpus) const;
  [[nodiscard]] double cost_of(std::size_t job) const noexcept;
  [[nodiscard]] int held_gpus(std::size_t job) const noexcept;
  [[nodiscard]] int held_type(std::size_t job) const noexcept;
  [[nodiscard]] Change best_alone(std::size_t job) const;
  [[nodiscard]] Change best_of_pair(std::size_t first, std::size_t second) const;
  void share_out(std::size_t first, std::size_t second, int type, int gpus, Change& best) const;
  void set(std::size_t job, std::int32_t option);

  std::size_t num_types_ = 0;
  std::uint32_t clock_ = 1;
  std::vector<std::int32_t> free_;
  std::vector<Job> jobs_;
  std::vector<Option> options_;
  std::vector<std::int32_t> cheapest_;   // of the options of a type up to this one
  std::vector<std::size_t> type_begin_;  // by job, num_types + 1 each
};

}  // namespace gpusched
