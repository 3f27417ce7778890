#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace bench_floor {

/// A job that runs, ordered by (finish, job). At any instant that is the order of
/// (remaining, job), so the list never needs to be sorted again.
struct Running {
  std::int64_t finish_us;
  std::uint32_t job;
  std::int32_t gpus;
};

struct FinishesEarlier {
  bool operator()(const Running& a, const Running& b) const {
    return a.finish_us < b.finish_us || (a.finish_us == b.finish_us && a.job < b.job);
  }
};

/// The running jobs in order, in blocks of at most 64: an insertion moves some hundred bytes,
/// whatever the number of jobs. Finishes leave at the front, preempted jobs near the back.
class SortedBlocks {
 public:
  /// A place in the list, counted from the back; any change of the list ends its validity.
  struct Position {
    std::size_t block;
    std::size_t at;
  };

  [[nodiscard]] bool empty() const { return blocks_.empty(); }
  [[nodiscard]] const Running& front() const { return blocks_.front()->first(); }
  [[nodiscard]] const Running& back() const { return blocks_.back()->last(); }
  [[nodiscard]] const Running& at(Position position) const {
    return blocks_[position.block]->items[position.at];
  }

  [[nodiscard]] Position last() const {
    return {blocks_.size() - 1, static_cast<std::size_t>(blocks_.back()->end) - 1};
  }

  /// Steps towards the front; false if `position` was the first.
  [[nodiscard]] bool step_back(Position& position) const {
    if (position.at > blocks_[position.block]->begin) {
      --position.at;
      return true;
    }
    if (position.block == 0) {
      return false;
    }
    --position.block;
    position.at = static_cast<std::size_t>(blocks_[position.block]->end) - 1;
    return true;
  }

  void pop_front() {
    Block& block = *blocks_.front();
    if (++block.begin == block.end) {
      drop(0);
    }
  }

  void insert(const Running& item) {
    if (blocks_.empty()) {
      blocks_.push_back(fresh());
      lasts_.push_back(item);
    }
    // The last block takes what is after everything.
    std::size_t index = static_cast<std::size_t>(
        std::lower_bound(lasts_.begin(), lasts_.end() - 1, item, FinishesEarlier{}) -
        lasts_.begin());
    if (blocks_[index]->full()) {
      split(index);
      index += FinishesEarlier{}(lasts_[index], item) ? 1U : 0U;
    }
    Block& block = *blocks_[index];
    block.insert(item);
    lasts_[index] = block.last();
  }

  void erase(Position position) {
    Block& block = *blocks_[position.block];
    std::copy(block.items.begin() + static_cast<std::ptrdiff_t>(position.at) + 1,
              block.items.begin() + block.end,
              block.items.begin() + static_cast<std::ptrdiff_t>(position.at));
    if (--block.end == block.begin) {
      drop(position.block);
    } else {
      lasts_[position.block] = block.last();
    }
  }

 private:
  static constexpr std::size_t kCapacity = 64;

  struct Block {
    std::array<Running, kCapacity> items;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;

    [[nodiscard]] const Running& first() const { return items[begin]; }
    [[nodiscard]] const Running& last() const { return items[end - 1]; }
    [[nodiscard]] bool full() const { return end - begin == kCapacity; }

    /// There is room at one end at least.
    void insert(const Running& item) {
      auto low = items.begin() + begin;
      auto high = items.begin() + end;
      auto place = std::lower_bound(low, high, item, FinishesEarlier{});
      if (end == kCapacity || (begin > 0 && place - low < high - place)) {
        std::copy(low, place, low - 1);
        --begin;
        --place;
      } else {
        std::copy_backward(place, high, high + 1);
        ++end;
      }
      *place = item;
    }
  };

  using Owner = std::unique_ptr<Block>;

  Owner fresh() {
    Owner block;
    if (spare_.empty()) {
      block = std::make_unique<Block>();
    } else {
      block = std::move(spare_.back());
      spare_.pop_back();
    }
    block->begin = block->end = kCapacity / 2;
    return block;
  }

  void drop(std::size_t index) {
    spare_.push_back(std::move(blocks_[index]));
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
    lasts_.erase(lasts_.begin() + static_cast<std::ptrdiff_t>(index));
  }

  void split(std::size_t index) {
    Owner upper = fresh();
    Block& lower = *blocks_[index];
    const auto half = lower.items.begin() + kCapacity / 2;
    upper->begin = kCapacity / 4;
    upper->end = upper->begin + kCapacity / 2;
    std::copy(half, lower.items.end(), upper->items.begin() + upper->begin);
    lower.end = kCapacity / 2;
    lasts_.insert(lasts_.begin() + static_cast<std::ptrdiff_t>(index), lower.last());
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(upper));
  }

  std::vector<Owner> blocks_;  // none is empty
  std::vector<Running> lasts_;  // the last item of each block
  std::vector<Owner> spare_;
};

}  // namespace bench_floor
