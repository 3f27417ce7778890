#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "base/buffer.hpp"

namespace gpusched {

/// A four-ary min-heap: shallower than a binary one, and its four children share a cache line or
/// two. A pop only leaves a hole at the root: where a push follows, as a start follows a finish
/// on a busy cluster, both together cost one walk down.
template <class Entry>
class Heap {
 public:
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size() - (has_hole_ ? 1 : 0); }

  [[nodiscard]] const Entry& top() noexcept {
    fill_hole();
    return entries_.front();
  }

  void clear() noexcept {
    entries_.clear();
    has_hole_ = false;
  }

  void push(Entry entry) {  // NOLINT(performance-unnecessary-value-param): entries are small
    if (has_hole_) {
      has_hole_ = false;
      sift_down(entry);
      return;
    }
    entries_.push_back(entry);
    std::size_t hole = entries_.size() - 1;
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / 4;
      if (!(entry < entries_[parent])) break;
      entries_[hole] = entries_[parent];
      hole = parent;
    }
    entries_[hole] = entry;
  }

  void pop() noexcept {
    fill_hole();
    has_hole_ = true;
  }

  /// Drops the entries for which `is_stale` holds.
  template <class Predicate>
  void remove_if(Predicate is_stale) {
    fill_hole();
    std::erase_if(entries_, is_stale);
    // A sorted array is a heap of any arity.
    std::sort(entries_.begin(), entries_.end());
  }

 private:
  void fill_hole() noexcept {
    if (!has_hole_) return;
    has_hole_ = false;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (!entries_.empty()) sift_down(last);
  }

  /// Puts the entry where it belongs, from a root that is free.
  void sift_down(Entry entry) noexcept {  // NOLINT(performance-unnecessary-value-param): as push
    Entry* const heap = entries_.data();
    const std::size_t size = entries_.size();
    std::size_t hole = 0;
    for (;;) {
      const std::size_t child = 4 * hole + 1;
      std::size_t least = child;
      if (child + 3 < size) {
        // A tournament without branches that would be mispredicted.
        const std::size_t left = child + (heap[child + 1] < heap[child] ? 1 : 0);
        const std::size_t right = child + 2 + (heap[child + 3] < heap[child + 2] ? 1 : 0);
        least = heap[right] < heap[left] ? right : left;
      } else {
        if (child >= size) break;
        for (std::size_t other = child + 1; other < size; ++other) {
          if (heap[other] < heap[least]) least = other;
        }
      }
      if (!(heap[least] < entry)) break;
      heap[hole] = heap[least];
      hole = least;
    }
    heap[hole] = entry;
  }

  std::vector<Entry> entries_;
  bool has_hole_ = false;
};

/// A priority queue for entries that mostly come in order: those join a sorted run, the others
/// a heap. First-come queues never touch the heap.
template <class Entry>
class RunHeap {
 public:
  [[nodiscard]] bool empty() const noexcept { return head_ == run_.size() && heap_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return run_.size() - head_ + heap_.size(); }

  [[nodiscard]] const Entry& top() noexcept { return run_is_next() ? run_[head_] : heap_.top(); }

  void push(Entry entry) {  // NOLINT(performance-unnecessary-value-param): entries are small
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

  /// Drops the entries for which `is_stale` holds.
  template <class Predicate>
  void remove_if(Predicate is_stale) {
    run_.erase(run_.begin(), run_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
    std::erase_if(run_, is_stale);
    heap_.remove_if(is_stale);
  }

  void clear() noexcept {
    run_.clear();
    head_ = 0;
    heap_.clear();
  }

 private:
  [[nodiscard]] bool run_is_next() noexcept {
    return head_ < run_.size() && (heap_.empty() || run_[head_] < heap_.top());
  }

  std::vector<Entry, KeptAllocator<Entry>> run_;
  std::size_t head_ = 0;
  Heap<Entry> heap_;
};

}  // namespace gpusched
