#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace gpusched {

/// When the present runs will end: a winner tree over the slots. A leaf is the end of a run, an inner
/// node the earlier end of its two children, the lower slot of equals. An end that moves is walked up
/// one path without branches: the nodes of a path are known beforehand, so that no load waits for
/// another and no branch is mispredicted, as happens at each level of a binary heap.
class FinishQueue {
 public:
  /// The run of the slot will end then, and not when was said before.
  void set(std::uint32_t slot, Time at) {
    put(slot, at);
    std::int64_t end = at.count();
    std::uint32_t winner = slot;
    std::size_t place = num_leaves_ + slot;
    while (place > 1) {
      const std::int64_t rival = ends_[place ^ 1];
      const std::uint32_t rival_slot = slots_[place ^ 1];
      // Below 0 if the rival is earlier; an equal one wins from the left, with the lower slots.
      // Compilers make branches of comparisons here, and which side is earlier cannot be guessed.
      const std::int64_t lead = rival - end - static_cast<std::int64_t>(place & 1);
      winner ^= (winner ^ rival_slot) & static_cast<std::uint32_t>(lead >> 63);
      end = std::min(rival, end);
      place /= 2;
      ends_[place] = end;
      slots_[place] = winner;
    }
  }

  /// As `set`, but takes effect at `settle`: if many slots move together, all nodes are decided
  /// once instead of walking every path.
  void move(std::uint32_t slot, Time at) {
    if (++num_moving_ <= most_paths_) {
      set(slot, at);
    } else {
      put(slot, at);
      is_settled_ = false;
    }
  }
  /// One end more is going to move before `settle`.
  void announce_move() noexcept { ++num_moving_; }
  void settle() noexcept {
    num_moving_ = 0;
    if (!is_settled_) decide_all();
  }

  /// The run of the slot, which has an end, has come to another one.
  void drop(std::uint32_t slot) { set(slot, kNever); }

  /// The next end of a run; kNever if nothing runs.
  [[nodiscard]] Time next() const noexcept { return Time{ends_[1]}; }

  /// The slot with the next end; the queue must not be empty.
  [[nodiscard]] std::uint32_t next_slot() const noexcept { return slots_[1]; }

  /// Removes and visits the slots that end now, in ascending order.
  template <class Visit>
  void take(Time now, Visit visit) {
    while (next() == now) {
      const std::uint32_t slot = next_slot();
      drop(slot);
      visit(slot);
    }
  }

 private:
  void put(std::uint32_t slot, Time at) {
    if (slot >= num_leaves_) grow(slot);
    ends_[num_leaves_ + slot] = at.count();
    slots_[num_leaves_ + slot] = slot;
  }

  [[gnu::noinline]] void decide_all() noexcept {
    for (std::size_t node = num_leaves_; node-- > 1;) {
      const std::size_t left = 2 * node;
      const std::size_t right = left + 1;
      const auto is_right = static_cast<std::uint32_t>((ends_[right] - ends_[left]) >> 63);
      slots_[node] = slots_[left] ^ ((slots_[left] ^ slots_[right]) & is_right);
      ends_[node] = std::min(ends_[left], ends_[right]);
    }
    is_settled_ = true;
  }

  [[gnu::noinline, gnu::cold]] void grow(std::uint32_t slot) {
    const std::size_t num_before = std::exchange(num_leaves_, std::bit_ceil(std::size_t{slot} + 1));
    most_paths_ = num_leaves_ / static_cast<std::size_t>(std::bit_width(num_leaves_));
    const std::vector<std::int64_t> before =
        std::exchange(ends_, std::vector<std::int64_t>(2 * num_leaves_, kNever.count()));
    slots_.assign(2 * num_leaves_, 0);
    for (std::size_t leaf = 0; leaf < num_before; ++leaf) {
      put(static_cast<std::uint32_t>(leaf), Time{before[num_before + leaf]});
    }
    decide_all();
  }

  std::size_t num_leaves_ = 1;
  std::size_t num_moving_ = 0;  // since `settle`
  std::size_t most_paths_ = 1;  // more of them take longer than all nodes
  bool is_settled_ = true;
  /// The end at each node, and its slot. Node 1 is the root, nodes 2n and 2n + 1 are the children
  /// of node n, and the leaves are the last half.
  std::vector<std::int64_t> ends_ = std::vector<std::int64_t>(2, kNever.count());
  std::vector<std::uint32_t> slots_ = std::vector<std::uint32_t>(2);
};

}  // namespace gpusched
