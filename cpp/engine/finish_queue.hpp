#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace gpusched {

/// When the present runs will end: an instant for each slot, and a tournament whose inner nodes keep
/// the earlier end of their two sides, the lower slot of equals. What moves walks one path to the
/// root, of which all is known beforehand: no load waits for another, and no branch is guessed,
/// which a heap of all ends does at each of its levels.
class FinishQueue {
 public:
  /// The run of the slot will end then, and not when was said before.
  void set(std::uint32_t slot, Time at) {
    if (slot >= num_leaves()) grow(slot);
    Node winner{at, slot};
    std::size_t place = num_leaves() + slot;
    nodes_[place] = winner;
    for (; place > 1; nodes_[place] = winner) {
      const Node rival = nodes_[place ^ 1];
      // An equal rival wins from the left, with the lower slots.
      const Time leads = rival.at - Time{static_cast<std::int64_t>(place & 1)};
      const bool is_beaten = leads < winner.at;
      winner.at = is_beaten ? rival.at : winner.at;
      winner.slot = is_beaten ? rival.slot : winner.slot;
      place /= 2;
    }
  }

  /// The run of the slot, which has an end, has come to another one.
  void drop(std::uint32_t slot) { set(slot, kNever); }

  /// The next end of a run; kNever if nothing runs.
  [[nodiscard]] Time next() const noexcept { return nodes_[1].at; }

  /// The slot whose run ends next; there is one.
  [[nodiscard]] std::uint32_t next_slot() const noexcept { return nodes_[1].slot; }

  /// Takes out and visits the slots whose runs end now, in ascending order.
  template <class Visit>
  void take(Time now, Visit visit) {
    while (next() == now) {
      const std::uint32_t slot = next_slot();
      drop(slot);
      visit(slot);
    }
  }

 private:
  struct Node {
    Time at = kNever;
    std::uint32_t slot = 0;
  };

  [[nodiscard]] std::size_t num_leaves() const noexcept { return nodes_.size() / 2; }

  [[gnu::noinline, gnu::cold]] void grow(std::uint32_t slot) {
    const std::vector<Node> before =
        std::exchange(nodes_, std::vector<Node>(2 * std::bit_ceil(std::size_t{slot} + 1)));
    const std::size_t num_before = before.size() / 2;
    for (std::size_t leaf = 0; leaf < num_before; ++leaf) {
      set(static_cast<std::uint32_t>(leaf), before[num_before + leaf].at);
    }
  }

  /// The root is node 1, the sides of node n are 2n and 2n + 1, and the leaves are the last half.
  std::vector<Node> nodes_ = std::vector<Node>(2);
};

}  // namespace gpusched
