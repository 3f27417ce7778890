#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace gpusched {

/// From when on a search in a profile of free GPUs needs to look, by the width and the length of
/// what it is for: what was in vain for somebody is in vain for those who want as much for as long
/// and longer, until GPUs are given back.
class RuledOut {
 public:
  /// Nothing is, from `now` on.
  void begin(Time now);

  /// Where a search may begin that is for what lies before `limit`, which is after now: fewer are
  /// free just before, or it is now. The limit if there is no need for one, unless as many are free
  /// just before the limit.
  [[nodiscard]] Time from(int gpus, Time length, Time limit) const;
  /// As before, where that is the limit: the last before it.
  [[nodiscard]] Time from_before(int gpus, Time length, Time limit) const;
  /// A search found nothing so long that begins before `from`; fewer are free just before.
  void rule_out(int gpus, Time length, Time from);
  /// From `at` on GPUs may be free that were not; `free_before` are just before it.
  void give_back(Time at, std::int64_t free_before);

 private:
  /// Both rise within a row.
  struct Entry {
    Time length;
    Time from;
  };
  struct Row {
    std::int64_t gpus;
    std::vector<Entry> entries;
  };

  [[nodiscard]] const std::vector<Entry>* entries(int gpus) const noexcept {
    const auto width = static_cast<std::size_t>(gpus);
    const bool is_known = width < row_of_.size() && row_of_[width] > 0;
    return is_known ? &rows_[row_of_[width] - 1].entries : nullptr;
  }

  Time now_{0};
  std::vector<std::size_t> row_of_;  // by width, from 1 on; 0: none
  std::vector<Row> rows_;
};

}  // namespace gpusched
