#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusched {

/// A set of small integers with constant-time insert, erase, first and next: a bitmap with two
/// levels of summaries (up to 64^3 = 262,144 members).
class IndexSet {
 public:
  static constexpr std::size_t kMaxSize = std::size_t{64} * 64 * 64;

  explicit IndexSet(std::size_t size = 0)
      : words_((size + 63) / 64), summary_((words_.size() + 63) / 64) {}

  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] std::size_t count() const noexcept { return count_; }

  [[nodiscard]] bool contains(std::size_t index) const noexcept {
    return (words_[index >> 6] & bit(index)) != 0;
  }

  void insert(std::size_t index) noexcept {
    words_[index >> 6] |= bit(index);
    summary_[index >> 12] |= bit(index >> 6);
    top_ |= bit(index >> 12);
    ++count_;
  }

  void erase(std::size_t index) noexcept {
    --count_;
    if ((words_[index >> 6] &= ~bit(index)) != 0) return;
    if ((summary_[index >> 12] &= ~bit(index >> 6)) != 0) return;
    top_ &= ~bit(index >> 12);
  }

  /// The lowest member above `index`, or -1. An `index` of -1 asks for the first.
  [[nodiscard]] int next(int index) const noexcept {
    const auto from = static_cast<std::size_t>(index + 1);
    std::size_t word = from >> 6;
    if (word >= words_.size()) return -1;
    if (const std::uint64_t rest = words_[word] & above(from)) {
      return static_cast<int>(word << 6 | lowest(rest));
    }
    ++word;
    std::size_t block = word >> 6;
    if (block >= summary_.size()) return -1;
    std::uint64_t rest = summary_[block] & above(word);
    if (rest == 0) {
      if (++block >= summary_.size()) return -1;
      const std::uint64_t blocks = top_ & above(block);
      if (blocks == 0) return -1;
      block = lowest(blocks);
      rest = summary_[block];
    }
    word = block << 6 | lowest(rest);
    return static_cast<int>(word << 6 | lowest(words_[word]));
  }

 private:
  static constexpr std::uint64_t bit(std::size_t index) noexcept {
    return std::uint64_t{1} << (index & 63);
  }
  static constexpr std::uint64_t above(std::size_t index) noexcept {
    return ~std::uint64_t{0} << (index & 63);
  }
  static std::size_t lowest(std::uint64_t word) noexcept {
    return static_cast<std::size_t>(std::countr_zero(word));
  }

  std::vector<std::uint64_t> words_;
  std::vector<std::uint64_t> summary_;
  std::uint64_t top_ = 0;
  std::size_t count_ = 0;
};

}  // namespace gpusched
