#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elastic/progressive_filling.hpp"

namespace gpusched {

/// The change in taken GPUs, slot by slot from the present one on, as plans replace others.
class PlanShift {
 public:
  void clear() noexcept;
  /// Both plans begin with the present slot.
  void replace(const SlotPlan& before, const SlotPlan& now);

  /// PendingChanges of the slots [begin, end) nothing changes.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }
  [[nodiscard]] std::int64_t end() const noexcept { return end_; }
  /// Slots in which less is taken.
  [[nodiscard]] std::int64_t num_freed() const noexcept { return num_freed_; }
  /// Slots from that one on, at most `most` and not beyond `end`, in which no less is taken.
  [[nodiscard]] std::int64_t none_freed(std::int64_t slot, std::int64_t most) const noexcept {
    return slots_within(more_, slot, most, 0, kMostTaken);
  }
  /// From `begin` to `end`.
  [[nodiscard]] Taken at(std::int64_t slot) const noexcept {
    return more_[static_cast<std::size_t>(slot)];
  }
  /// The part of the slots [begin, end) before `slot`.
  [[nodiscard]] std::span<const Taken> before(std::int64_t slot) const noexcept;

 private:
  void add(std::int64_t begin, std::int64_t end, Taken more);

  std::vector<Taken> more_;  // 0 outside
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t num_freed_ = 0;
};

}  // namespace gpusched
