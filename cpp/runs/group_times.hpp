#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// What the times of a group are like; a value per group each.
struct GroupTimes {
  std::vector<std::int64_t> count;
  /// Of the exact sum; NaN of none.
  std::vector<double> mean_us;
  /// A row for each percent that was asked: the least value that so many do not exceed, the nearest
  /// rank; -1 of none.
  std::vector<std::vector<std::int64_t>> percentiles_us;
};

/// The times of each group, in one pass for each question that is asked of the same times.
/// `order` and `time_us` are all jobs, each once, and their times as these ascend; `group` is the group of each
/// job, -1 where it does not count; percents lie in 1..100 and ascend. std::invalid_argument where
/// they do not, and where a job or a group is out of range.
[[nodiscard]] GroupTimes group_times(std::span<const std::uint32_t> order,
                                     std::span<const std::int64_t> time_us,
                                     std::span<const std::int32_t> group, std::size_t num_groups,
                                     std::span<const std::int64_t> percents);

}  // namespace gpusched
