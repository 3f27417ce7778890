#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "deadlines/plan.hpp"

namespace gpusched {

/// A job that leftover GPUs of a slot may go to.
struct FillJob {
  PlanQuery query;
  double worth = 0.0;        ///< of doing all of its remaining work
  std::int32_t base = -1;    ///< the configuration that is its own in the slot; -1: none
  std::int32_t next = -1;    ///< and in the slot after it
  std::int32_t chosen = -1;  ///< what it gets
};

/// Hands out the leftover GPUs of one slot, one step after the other where an extra GPU is worth
/// most: the part of the remaining work that it does, times what all of that is worth. A step is
/// more GPUs, or a better type.
class SlotFilling {
 public:
  /// `spare`: leftover GPUs by type, those of the bases not among them; what is handed out is
  /// taken from it. Sets `chosen` of every job. Ties go to the earlier job.
  void fill(std::span<FillJob> jobs, std::span<std::int64_t> spare, Time length);

  /// For jobs without a base, in their order: the fewest GPUs that meet the deadline if they are
  /// kept to the end; jobs for which there are none get nothing.
  static void rescue(std::span<FillJob> jobs, std::span<std::int64_t> spare);

 private:
  struct Step {
    double gain;
    std::uint32_t job;
    std::int32_t configuration;

    /// For a heap with the greatest gain on top.
    friend bool operator<(const Step& a, const Step& b) noexcept {
      return a.gain != b.gain ? a.gain < b.gain : a.job > b.job;
    }
  };

  void push_best(std::span<const FillJob> jobs, std::uint32_t index,
                 std::span<const std::int64_t> spare, Time length);

  std::vector<Step> heap_;
};

/// Jobs in a row that find no place before the search for more is given up.
inline constexpr int kMaxFillMisses = 32;

/// The configuration with the greatest rate on what is left, on no more GPUs than asked for; -1:
/// none fits.
[[nodiscard]] int fastest_as_asked(const PlanQuery& query, int asked,
                                   std::span<const std::int64_t> spare) noexcept;

/// Time in which the configuration makes progress if it is run for `length`.
[[nodiscard]] Time productive_time(const PlanQuery& query, int configuration, Time length) noexcept;

/// GPUs of its type that a job needs beyond those of another of its configurations.
[[nodiscard]] bool has_spare(const PlanQuery& query, int configuration, int instead_of,
                             std::span<const std::int64_t> spare) noexcept;

}  // namespace gpusched
