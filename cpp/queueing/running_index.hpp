#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// Jobs sorted by (end, JobId), or by any other number in place of the end, with their widths summed
/// over any prefix: a sorted list in blocks of at most 64. Insert, erase and prefix sums touch one
/// block and the blocks' sums.
class RunningIndex {
 public:
  struct Entry {
    Time end;
    JobId job;
    std::int32_t gpus;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.end != b.end ? a.end < b.end : a.job < b.job;
    }
  };

  [[nodiscard]] bool empty() const noexcept { return blocks_.empty(); }
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }
  /// The latest entry; the index must not be empty.
  [[nodiscard]] const Entry& back() const noexcept {
    const Block& last = *blocks_.back();
    return last.entries[last.end - 1];
  }
  /// The earliest; as above.
  [[nodiscard]] const Entry& front() const noexcept {
    const Block& first = *blocks_.front();
    return first.entries[first.begin];
  }
  void clear() noexcept {
    blocks_.clear();
    lasts_.clear();
    total_ = 0;
  }

  void insert(Entry entry);
  [[nodiscard]] bool contains(Time end, JobId job) const;
  /// The entry with this end and job must be in the index.
  void erase(Time end, JobId job);

  /// Widths of the entries from (end, job) on, that one included; counting may end once the sum
  /// reaches `enough`.
  [[nodiscard]] std::int64_t sum_from(
      Time end, JobId job, std::int64_t enough = std::numeric_limits<std::int64_t>::max()) const;
  /// The first entry, in order, at which the inclusive prefix sum reaches `need`; nullptr if the
  /// total does not. `before` receives the exclusive prefix sum.
  [[nodiscard]] const Entry* reach(std::int64_t need, std::int64_t& before) const;
  /// The last entry at which the inclusive suffix sum reaches `need`, which is at most the total.
  [[nodiscard]] const Entry& reach_from_back(std::int64_t need) const;
  /// Widths of the entries that end at or before `end`.
  [[nodiscard]] std::int64_t sum_until(Time end) const;

  /// A place in the index. No entry may come or go while it is used.
  struct Cursor {
    std::ptrdiff_t block;
    int position;

    [[nodiscard]] bool is_valid() const noexcept { return block >= 0; }
  };
  [[nodiscard]] Cursor last() const noexcept { return before(std::ssize(blocks_)); }
  /// The first entry that ends after `end`, and the last that does not.
  [[nodiscard]] Cursor first_after(Time end) const;
  [[nodiscard]] Cursor last_until(Time end) const;
  [[nodiscard]] const Entry& at(const Cursor& cursor) const noexcept {
    return blocks_[static_cast<std::size_t>(cursor.block)]->entries[cursor.position];
  }
  void step(Cursor& cursor) const noexcept {
    if (++cursor.position < blocks_[static_cast<std::size_t>(cursor.block)]->end) return;
    const auto next = static_cast<std::size_t>(cursor.block + 1);
    cursor = next < blocks_.size() ? Cursor{cursor.block + 1, blocks_[next]->begin} : Cursor{-1, 0};
  }
  void step_back(Cursor& cursor) const noexcept {
    if (cursor.position > blocks_[static_cast<std::size_t>(cursor.block)]->begin) {
      --cursor.position;
    } else {
      cursor = before(cursor.block);
    }
  }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const auto& block : blocks_) {
      for (int i = block->begin; i < block->end; ++i) visit(block->entries[i]);
    }
  }

 private:
  static constexpr int kCapacity = 64;
  /// Its entries are in [begin, end): the first to end leaves without moving the others.
  struct Block {
    int begin = 0;
    int end = 0;
    std::int64_t sum = 0;
    Entry entries[kCapacity];
  };

  /// The first block whose last entry is not before `entry`; the number of blocks if none.
  [[nodiscard]] std::size_t find_block(const Entry& entry) const;
  [[nodiscard]] static int find_in(const Block& block, const Entry& entry);
  [[nodiscard]] Boxed<Block> new_block();
  /// The last entry of the block before.
  [[nodiscard]] Cursor before(std::ptrdiff_t block) const noexcept {
    return block == 0 ? Cursor{-1, 0}
                      : Cursor{block - 1, blocks_[static_cast<std::size_t>(block - 1)]->end - 1};
  }

  std::vector<Boxed<Block>> blocks_;
  std::vector<Entry> lasts_;
  std::vector<Boxed<Block>> spare_;
  std::int64_t total_ = 0;
};

}  // namespace gpusched
