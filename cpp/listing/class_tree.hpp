#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "listing/keyed_job.hpp"
#include "model/job_classes.hpp"

namespace gpusched {

/// The least job over many classes: minima over blocks of them, over blocks of those, and so on.
/// Beside its least job a block has the least that any of its classes needs, so that a search
/// passes over blocks in which nothing fits. Classes without a job that is asked for do not count.
class ClassTree {
 public:
  /// A class needs this much at least: GPUs that are wholly free anywhere, and CPU and memory on
  /// one server, or none of these where it has not been refused; and its shortest job is so long.
  struct Needs {
    std::int64_t room = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t shortest = 0;
  };
  /// What there is at most. Who needs more than `spare` GPUs may not be longer than `longest`.
  struct Most {
    static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

    std::int64_t room;
    std::int64_t cpu_milli = kAny;
    std::int64_t memory_mib = kAny;
    std::int64_t spare = kAny;
    std::int64_t longest = kAny;

    [[nodiscard]] bool fits(const Needs& needs) const noexcept {
      return needs.room <= room && needs.cpu_milli <= cpu_milli && needs.memory_mib <= memory_mib &&
             (needs.room <= spare || needs.shortest <= longest);
    }
  };
  /// The least job of each class (kNoKeyedJob: none), whether the class was refused, and where
  /// anybody asks for it the length of its shortest job.
  struct Leaves {
    std::span<const KeyedJob> heads;
    std::span<const char> is_refused;
    std::span<const std::int64_t> shortest = {};
  };

  /// Fewer classes than this are looked at one by one in less time.
  static constexpr ClassId kFewClasses = 64;

  /// No class has a job.
  void begin(const JobClasses& classes);
  void clear() noexcept { std::fill(nodes_.begin(), nodes_.end(), Node{}); }
  [[nodiscard]] bool empty() const noexcept { return nodes_.empty(); }

  /// The least job of all classes, or kNoKeyedJob.
  [[nodiscard]] const KeyedJob& top() const noexcept { return nodes_.back().head; }

  /// After any change of the class's leaf.
  void update(ClassId id, const Leaves& leaves) noexcept;

  /// The least job of the classes [begin, end) that need at most `most`, or kNoKeyedJob.
  /// `fits(id)` has the last word on a class that was refused.
  template <class Fits>
  [[nodiscard]] KeyedJob least(const Leaves& leaves, ClassId begin, ClassId end, const Most& most,
                               Fits fits, ClassId& id) const {
    KeyedJob best = kNoKeyedJob;
    search(leaves, begins_.size() - 1, 0, begin, end, most, fits, best, id);
    return best;
  }

 private:
  static constexpr std::size_t kFanout = 8;

  struct Node {
    KeyedJob head = kNoKeyedJob;
    Needs needs;
  };

  [[nodiscard]] Needs needs_of(const Leaves& leaves, std::size_t id) const noexcept;
  [[nodiscard]] Node leaf(const Leaves& leaves, std::size_t id) const noexcept {
    if (leaves.heads[id].job == kNoJob) return {};
    return {leaves.heads[id], needs_of(leaves, id)};
  }

  /// Looks below a node of the level; level 0 has the blocks of classes.
  template <class Fits>
  void search(const Leaves& leaves, std::size_t level, std::size_t at, std::size_t begin,
              std::size_t end, const Most& most, Fits& fits, KeyedJob& best, ClassId& id) const {
    const std::size_t first = at * kFanout;
    if (level == 0) {
      const std::size_t last = std::min({first + kFanout, end, leaves.heads.size()});
      for (std::size_t child = std::max(first, begin); child < last; ++child) {
        if (!(leaves.heads[child] < best)) continue;
        const bool is_refused = leaves.is_refused[child] != 0;
        const auto own = static_cast<ClassId>(child);
        if (!most.fits(needs_of(leaves, child)) || (is_refused && !fits(own))) continue;
        best = leaves.heads[child];
        id = own;
      }
      return;
    }
    const Node* children = nodes_.data() + begins_[level - 1] + first;
    std::size_t width = kFanout;  // classes below a child
    for (std::size_t below = 1; below < level; ++below) width *= kFanout;
    // The child with the least job first: what it has mostly rules the others out.
    unsigned seen = 0;
    for (;;) {
      std::size_t next = kFanout;
      for (std::size_t i = 0; i < kFanout; ++i) {
        const Node& child = children[i];
        if ((seen >> i & 1) != 0 || !(child.head < best) || !most.fits(child.needs)) continue;
        if ((first + i + 1) * width <= begin || (first + i) * width >= end) continue;
        if (next == kFanout || child.head < children[next].head) next = i;
      }
      if (next == kFanout) return;
      seen |= 1U << next;
      search(leaves, level - 1, first + next, begin, end, most, fits, best, id);
    }
  }

  const JobClasses* classes_ = nullptr;
  // Of the blocks of classes, of the blocks of those, ..., last the root. Each level but the last
  // is filled up to whole blocks.
  std::vector<Node> nodes_;
  std::vector<std::size_t> begins_;
};

}  // namespace gpusched
