#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// Step functions that share their steps: what holds from an instant on.
struct RunningTotals {
  std::vector<std::int64_t> time_us;
  /// One for each row of changes, a value per instant.
  std::vector<std::vector<std::int64_t>> totals;
};

/// What has added up after all that happens at an instant. An event is a time, ascending, and a
/// code; it adds `changes[row][code]` to each row. std::invalid_argument where times descend or a
/// row has no change for a code.
[[nodiscard]] RunningTotals running_totals(std::span<const std::int64_t> time_us,
                                           std::span<const std::int64_t> codes,
                                           const std::vector<std::vector<std::int64_t>>& changes);

}  // namespace gpusched
