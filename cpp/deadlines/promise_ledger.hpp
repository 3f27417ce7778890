#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// The promised GPUs of each type in each slot from the present one on: a ring buffer that grows
/// with the longest promise and drops the past.
class PromiseLedger {
 public:
  /// No promise of a simulation reaches further ahead.
  static constexpr std::int64_t kMaxSlots = std::int64_t{1} << 16;

  explicit PromiseLedger(int num_types) : num_types_(static_cast<std::size_t>(num_types)) {
    cells_.assign(num_types_ * static_cast<std::size_t>(capacity_), 0);
  }

  /// The first slot that is kept.
  [[nodiscard]] std::int64_t begin() const noexcept { return begin_; }

  /// Forgets the slots before.
  void advance(std::int64_t slot) {
    const std::int64_t last = std::min(slot, begin_ + capacity_);
    for (; begin_ < last; ++begin_) {
      for (std::size_t type = 0; type < num_types_; ++type) cell(type, begin_) = 0;
    }
    begin_ = std::max(begin_, slot);
  }

  [[nodiscard]] int promised(int type, std::int64_t slot) const noexcept {
    return slot - begin_ < capacity_ ? cells_[index(static_cast<std::size_t>(type), slot)] : 0;
  }

  /// Calls `visit(slot, promised)` for the slots [begin, end), none of them before the first one.
  template <class Visit>
  void for_each_slot(int type, std::int64_t begin, std::int64_t end, Visit&& visit) const {
    const std::int64_t last = std::min(end, begin_ + capacity_);
    std::int64_t slot = begin;
    for_each_run(*this, type, begin, last, [&](std::span<const std::int32_t> cells) {
      for (const std::int32_t promised : cells) visit(slot++, promised);
    });
    for (; slot < end; ++slot) visit(slot, 0);
  }

  /// Writes the promised GPUs of the slots from `begin` on, which must not be before the first one.
  void copy(int type, std::int64_t begin, std::span<std::int32_t> out) const {
    const std::int64_t end = begin + static_cast<std::int64_t>(out.size());
    auto to = out.begin();
    for_each_run(*this, type, begin, std::min(end, begin_ + capacity_),
                 [&](std::span<const std::int32_t> cells) {
                   to = std::copy(cells.begin(), cells.end(), to);
                 });
    std::fill(to, out.end(), 0);
  }

  /// The lowest number promised in the slots [begin, end), which must not start before the first
  /// one; `most` if that is lower.
  [[nodiscard]] std::int32_t least(int type, std::int64_t begin, std::int64_t end,
                                   std::int32_t most) const {
    const std::int64_t last = std::min(end, begin_ + capacity_);
    if (begin < end && last < end) return std::min(most, 0);
    for_each_run(*this, type, begin, last, [&](std::span<const std::int32_t> cells) {
      for (const std::int32_t promised : cells) most = promised < most ? promised : most;
    });
    return most;
  }

  /// Adds `gpus` (may be negative) to the slots [begin, end), ignoring those before the first slot.
  /// Returns whether each then has 0 to `most`.
  [[nodiscard]] bool add(int type, int gpus, std::int64_t begin, std::int64_t end, int most) {
    reserve(end);
    std::int32_t lowest = 0;
    std::int32_t highest = most;
    for_each_run(*this, type, std::max(begin, begin_), end, [&](std::span<std::int32_t> cells) {
      for (std::int32_t& promised : cells) {
        promised += gpus;
        lowest = promised < lowest ? promised : lowest;
        highest = promised > highest ? promised : highest;
      }
    });
    return lowest == 0 && highest == most;
  }

 private:
  [[nodiscard]] std::size_t index(std::size_t type, std::int64_t slot) const noexcept {
    return type * static_cast<std::size_t>(capacity_) +
           static_cast<std::size_t>(slot & (capacity_ - 1));
  }
  [[nodiscard]] std::int32_t& cell(std::size_t type, std::int64_t slot) noexcept {
    return cells_[index(type, slot)];
  }

  /// The cells of kept slots, as the ring has them side by side.
  template <class Self, class Visit>
  static void for_each_run(Self& self, int type, std::int64_t begin, std::int64_t end,
                           Visit&& visit) {
    while (begin < end) {
      const std::size_t first = self.index(static_cast<std::size_t>(type), begin);
      const std::int64_t count =
          std::min(end - begin, self.capacity_ - (begin & (self.capacity_ - 1)));
      visit(std::span(self.cells_.data() + first, static_cast<std::size_t>(count)));
      begin += count;
    }
  }

  void reserve(std::int64_t end) {
    if (end - begin_ <= capacity_) return;
    PromiseLedger larger(*this);
    while (larger.capacity_ < end - begin_) larger.capacity_ *= 2;
    larger.cells_.assign(num_types_ * static_cast<std::size_t>(larger.capacity_), 0);
    for (std::size_t type = 0; type < num_types_; ++type) {
      for (std::int64_t slot = begin_; slot < begin_ + capacity_; ++slot) {
        larger.cell(type, slot) = cell(type, slot);
      }
    }
    *this = std::move(larger);
  }

  std::size_t num_types_;
  std::int64_t capacity_ = 64;  // a power of two
  std::int64_t begin_ = 0;
  std::vector<std::int32_t> cells_;
};

}  // namespace gpusched
