#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace bench_floor {

/// A 4-ary min-heap whose pop is lazy: the root becomes a hole, and a push that follows at
/// once fills the hole with one sift instead of two. A full cluster with a queue does
/// exactly that: one job ends, one starts.
template <typename Item, typename Less = std::less<Item>>
class Heap {
 public:
  [[nodiscard]] bool empty() const { return items_.size() == hole_; }

  /// The least item. The heap is not empty.
  [[nodiscard]] const Item& top() {
    fill_hole();
    return items_.front();
  }

  void pop() {
    fill_hole();
    hole_ = 1;
  }

  void push(const Item& item) {
    if (hole_ != 0) {
      hole_ = 0;
      sift_down(item);
      return;
    }
    std::size_t at = items_.size();
    items_.push_back(item);
    while (at > 0) {
      const std::size_t parent = (at - 1) / kArity;
      if (!less_(item, items_[parent])) {
        break;
      }
      items_[at] = items_[parent];
      at = parent;
    }
    items_[at] = item;
  }

 private:
  static constexpr std::size_t kArity = 4;

  void fill_hole() {
    if (hole_ == 0) {
      return;
    }
    hole_ = 0;
    const Item last = items_.back();
    items_.pop_back();
    if (!items_.empty()) {
      sift_down(last);
    }
  }

  /// Puts `item` where it belongs on the way down from the root.
  void sift_down(const Item item) {
    Item* const items = items_.data();
    const std::size_t size = items_.size();
    std::size_t at = 0;
    std::size_t child = 1;
    while (child + kArity <= size) {
      // Two rounds of a tournament: conditional moves, no branch to mispredict.
      const std::size_t left = child + (less_(items[child + 1], items[child]) ? 1U : 0U);
      const std::size_t right = child + 2 + (less_(items[child + 3], items[child + 2]) ? 1U : 0U);
      const std::size_t least = less_(items[right], items[left]) ? right : left;
      if (!less_(items[least], item)) {
        items[at] = item;
        return;
      }
      items[at] = items[least];
      at = least;
      child = kArity * at + 1;
    }
    if (child < size) {
      std::size_t least = child;
      for (std::size_t other = child + 1; other < size; ++other) {
        least = less_(items[other], items[least]) ? other : least;
      }
      if (less_(items[least], item)) {
        items[at] = items[least];
        at = least;
      }
    }
    items[at] = item;
  }

  std::vector<Item> items_;
  std::size_t hole_ = 0;  // 1 while the root is a hole
  [[no_unique_address]] Less less_;
};

}  // namespace bench_floor
