#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Statistics of the times of each group; one value per group.
struct GroupTimes {
  std::vector<std::int64_t> count;
  /// From the exact sum; NaN if empty.
  std::vector<double> mean_us;
  /// A row for each requested percent: the nearest rank, i.e. the lowest value that this share does
  /// not exceed; -1 if there are no times.
  std::vector<std::vector<std::int64_t>> percentiles_us;
};

/// The times of each group, in one pass over sorted times. `order` and `time_us` are all jobs, each
/// once, and their times, ascending; `group` is the group of each job, or -1 if it does not count;
/// percents must ascend in 1..100. Throws std::invalid_argument if they do not, or if a job or a
/// group is out of range.
[[nodiscard]] GroupTimes group_times(std::span<const std::uint32_t> order,
                                     std::span<const std::int64_t> time_us,
                                     std::span<const std::int32_t> group, std::size_t num_groups,
                                     std::span<const std::int64_t> percents);

}  // namespace gpusched
