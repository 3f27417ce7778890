#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "model/job_classes.hpp"
#include "queueing/keyed_job.hpp"

namespace gpusched {

/// The first waiting job of each class, its head, and the lowest head that fits a limit. A class
/// can be closed until it may fit again; a refusal is remembered until it is empty. More than
/// kFewClasses are kept in a tree of blocks: each stores its lowest head and the minimum request of
/// any class below, so that a search skips blocks in which nothing fits. That many classes occur if
/// jobs have demands.
class ClassHeads {
 public:
  /// The minimum request of a class: GPUs that are wholly free anywhere, and CPU and memory on one
  /// server, both only after a refusal; and the length of its shortest job.
  struct LeastDemand {
    std::int64_t room = 0;
    std::int64_t cpu_milli = 0;
    std::int64_t memory_mib = 0;
    std::int64_t shortest = 0;
  };
  /// The available resources. A job that needs more than `spare` GPUs may not exceed `longest`.
  struct Limit {
    static constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max();

    std::int64_t room;
    std::int64_t cpu_milli = kAny;
    std::int64_t memory_mib = kAny;
    std::int64_t spare = kAny;
    std::int64_t longest = kAny;

    [[nodiscard]] bool fits(const LeastDemand& least) const noexcept {
      return least.room <= room && least.cpu_milli <= cpu_milli && least.memory_mib <= memory_mib &&
             (least.room <= spare || least.shortest <= longest);
    }
  };

  static constexpr ClassId kFewClasses = 64;

  /// No class has a head. `classes` outlive this.
  void begin(const JobClasses& classes);
  /// Removes all heads and opens all classes; refusals are remembered.
  void clear() noexcept;
  [[nodiscard]] const JobClasses& classes() const noexcept { return *classes_; }
  [[nodiscard]] bool has_tree() const noexcept { return !nodes_.empty(); }

  /// The head of a class, kNoKeyedJob where it has none or is closed.
  [[nodiscard]] const KeyedJob& operator[](ClassId id) const noexcept { return heads_[id]; }
  [[nodiscard]] bool is_closed(ClassId id) const noexcept { return is_closed_[id] != 0; }
  /// The lowest head of all classes, or kNoKeyedJob.
  [[nodiscard]] KeyedJob top() const noexcept {
    return has_tree() ? nodes_.back().head : *std::min_element(heads_.begin(), heads_.end());
  }

  /// Sets the head of a class, and the length of its shortest job: 0 if unused.
  void set(ClassId id, const KeyedJob& head, std::int64_t shortest = 0) noexcept {
    heads_[id] = head;
    if (has_tree()) [[unlikely]]
      update(id, shortest);
  }
  /// The class has no head until it is opened.
  void close(ClassId id, bool is_refused = false) {
    is_closed_[id] = 1;
    if (is_refused) is_refused_[id] = 1;
    closed_.push_back(id);
    set(id, kNoKeyedJob);
  }
  /// The class is empty, or the placement has accepted it.
  void forget_refusal(ClassId id) noexcept { is_refused_[id] = 0; }
  /// Opens all classes; `show(id)` is to set the head of each that was closed.
  template <class Show>
  void reopen(Show show) {
    for (const ClassId id : closed_) {
      is_closed_[id] = 0;
      show(id);
    }
    closed_.clear();
  }

  /// The lowest head of the classes of a group within the limit (CPU and memory are checked only if
  /// they were refused, and then `fits(id)` must hold); or kNoKeyedJob.
  template <class Fits>
  [[nodiscard]] KeyedJob least(const JobClasses::Group& group, const Limit& limit, Fits fits,
                               ClassId& id) const {
    KeyedJob best = kNoKeyedJob;
    if (has_tree()) [[unlikely]] {
      search({group.begin, group.end, limit}, begins_.size() - 1, 0, fits, best, id);
      return best;
    }
    for (ClassId at = group.begin; at < group.end && classes_->room(at) <= limit.room; ++at) {
      if (!(heads_[at] < best)) continue;
      best = heads_[at];
      id = at;
    }
    return best;
  }
  [[nodiscard]] KeyedJob least(const JobClasses::Group& group, const Limit& limit,
                               ClassId& id) const {
    return least(group, limit, [](ClassId) { return true; }, id);
  }

 private:
  static constexpr std::size_t kFanout = 8;

  struct Node {
    KeyedJob head = kNoKeyedJob;
    LeastDemand least;
  };
  struct Search {
    std::size_t begin;
    std::size_t end;
    const Limit& limit;
  };

  void update(ClassId id, std::int64_t shortest) noexcept;
  [[nodiscard]] LeastDemand least_demand(std::size_t id) const noexcept;
  [[nodiscard]] Node leaf(std::size_t id) const noexcept {
    return heads_[id].job == kNoJob ? Node{} : Node{heads_[id], least_demand(id)};
  }

  /// Looks below a node of the level; level 0 has the blocks of classes.
  template <class Fits>
  void search(const Search& what, std::size_t level, std::size_t at, Fits& fits, KeyedJob& best,
              ClassId& id) const {
    const std::size_t first = at * kFanout;
    if (level == 0) {
      const std::size_t last = std::min({first + kFanout, what.end, heads_.size()});
      for (std::size_t child = std::max(first, what.begin); child < last; ++child) {
        if (!(heads_[child] < best)) continue;
        const auto own = static_cast<ClassId>(child);
        if (!what.limit.fits(least_demand(child)) || (is_refused_[child] != 0 && !fits(own))) {
          continue;
        }
        best = heads_[child];
        id = own;
      }
      return;
    }
    const Node* children = nodes_.data() + begins_[level - 1] + first;
    std::size_t width = kFanout;  // classes below a child
    for (std::size_t below = 1; below < level; ++below) width *= kFanout;
    // The child with the lowest job first: its result mostly excludes the others.
    unsigned seen = 0;
    for (;;) {
      std::size_t next = kFanout;
      for (std::size_t i = 0; i < kFanout; ++i) {
        const Node& child = children[i];
        if ((seen >> i & 1) != 0 || !(child.head < best) || !what.limit.fits(child.least)) continue;
        if ((first + i + 1) * width <= what.begin || (first + i) * width >= what.end) continue;
        if (next == kFanout || child.head < children[next].head) next = i;
      }
      if (next == kFanout) return;
      seen |= 1U << next;
      search(what, level - 1, first + next, fits, best, id);
    }
  }

  const JobClasses* classes_ = nullptr;
  std::vector<KeyedJob> heads_;
  std::vector<char> is_closed_;
  std::vector<char> is_refused_;
  std::vector<ClassId> closed_;
  std::vector<std::int64_t> shortest_;  // with a tree only
  // Blocks of classes, blocks of those, ..., last the root. Each level but the last is filled up to
  // whole blocks. Empty if classes are few.
  std::vector<Node> nodes_;
  std::vector<std::size_t> begins_;
};

}  // namespace gpusched
