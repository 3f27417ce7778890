#pragma once

#include <cstddef>
#include <vector>

namespace bench_floor {

/// A first-in first-out queue in one array that doubles when it is full.
template <typename Item>
class Ring {
 public:
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] const Item& top() const { return items_[head_]; }

  void pop() {
    head_ = (head_ + 1) & (items_.size() - 1);
    --size_;
  }

  void push(const Item& item) {
    if (size_ == items_.size()) {
      grow();
    }
    items_[(head_ + size_) & (items_.size() - 1)] = item;
    ++size_;
  }

 private:
  void grow() {
    std::vector<Item> larger(items_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) {
      larger[i] = items_[(head_ + i) & (items_.size() - 1)];
    }
    items_ = std::move(larger);
    head_ = 0;
  }

  std::vector<Item> items_ = std::vector<Item>(16);
  std::size_t head_ = 0;
  std::size_t size_ = 0;
};

}  // namespace bench_floor
