#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace gpusched {

/// A four-ary min-heap: shallower than a binary one, and its four children share a cache line
/// or two. `Entry` needs operator<, and no two entries may be equal.
template <class Entry>
class Heap {
 public:
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  [[nodiscard]] const Entry& top() const noexcept { return entries_.front(); }
  void clear() noexcept { entries_.clear(); }

  void push(Entry entry) {
    entries_.push_back(entry);
    sift_up(entries_.size() - 1, entry);
  }

  void pop() {
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down(0, last);
  }

  /// Drops the entries for which `is_stale` holds.
  template <class Predicate>
  void remove_if(Predicate is_stale) {
    std::erase_if(entries_, is_stale);
    // A sorted array is a heap of any arity.
    std::sort(entries_.begin(), entries_.end());
  }

 private:
  static constexpr std::size_t kArity = 4;

  void sift_up(std::size_t hole, Entry entry) {
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (!(entry < entries_[parent])) break;
      entries_[hole] = entries_[parent];
      hole = parent;
    }
    entries_[hole] = entry;
  }

  void sift_down(std::size_t hole, Entry entry) {
    const std::size_t size = entries_.size();
    for (;;) {
      const std::size_t first = kArity * hole + 1;
      if (first >= size) break;
      std::size_t least = first;
      const std::size_t last = std::min(first + kArity, size);
      for (std::size_t child = first + 1; child < last; ++child) {
        if (entries_[child] < entries_[least]) least = child;
      }
      if (!(entries_[least] < entry)) break;
      entries_[hole] = entries_[least];
      hole = least;
    }
    entries_[hole] = entry;
  }

  std::vector<Entry> entries_;
};

/// A priority queue for entries that mostly come in order: those join a sorted run, the others
/// a heap. First-come queues never touch the heap.
template <class Entry>
class RunHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == run_.size() && heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return run_.size() - head_ + heap_.size(); }

  [[nodiscard]] const Entry& top() const noexcept {
    return run_is_next() ? run_[head_] : heap_.top();
  }

  void push(Entry entry) {
    if (head_ == run_.size()) {
      run_.clear();
      head_ = 0;
      run_.push_back(entry);
    } else if (run_.back() < entry) {
      if (head_ > 64 && 2 * head_ > run_.size()) {
        run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(head_));
        head_ = 0;
      }
      run_.push_back(entry);
    } else {
      heap_.push(entry);
    }
  }

  void pop() {
    if (run_is_next()) {
      ++head_;
    } else {
      heap_.pop();
    }
  }

  void clear() noexcept {
    run_.clear();
    head_ = 0;
    heap_.clear();
  }

 private:
  [[nodiscard]] bool run_is_next() const noexcept {
    return head_ < run_.size() && (heap_.empty() || run_[head_] < heap_.top());
  }

  std::vector<Entry> run_;
  std::size_t head_ = 0;
  Heap<Entry> heap_;
};

}  // namespace gpusched
