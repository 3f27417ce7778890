#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace gpusched {

/// How many GPUs of each type are promised over all time, as runs of slots: as long as there are
/// promises, however long they are.
class PromiseRuns {
 public:
  struct Promise {
    int type;
    int gpus;
    std::int64_t begin;  ///< slots [begin, end)
    std::int64_t end;
  };

  PromiseRuns(std::size_t num_types, std::span<const Promise> promises);

  [[nodiscard]] int promised(int type, std::int64_t slot) const noexcept {
    return *(run_of(type, slot) - 1 - begins(type).begin() + gpus(type).begin());
  }

  /// Calls `visit(begin, end)` for the pieces of [first, last) in which no type's number changes.
  template <class Visit>
  void for_each_piece(std::int64_t first, std::int64_t last, Visit&& visit) const {
    while (first < last) {
      std::int64_t end = last;
      for (std::size_t type = 0; type < begins_.size(); ++type) {
        const auto next = run_of(static_cast<int>(type), first);
        if (next != begins_[type].end()) end = std::min(end, *next);
      }
      visit(first, end);
      first = end;
    }
  }

 private:
  [[nodiscard]] const std::vector<std::int64_t>& begins(int type) const noexcept {
    return begins_[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] const std::vector<int>& gpus(int type) const noexcept {
    return gpus_[static_cast<std::size_t>(type)];
  }
  /// The run after that of the slot.
  [[nodiscard]] std::vector<std::int64_t>::const_iterator run_of(int type,
                                                                 std::int64_t slot) const noexcept {
    return std::upper_bound(begins(type).begin(), begins(type).end(), slot);
  }

  // Of each type, where runs begin, the first one before all time, and what is promised in them.
  std::vector<std::vector<std::int64_t>> begins_;
  std::vector<std::vector<int>> gpus_;
};

}  // namespace gpusched
