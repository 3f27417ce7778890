#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace gpusched {

/// An empty summary of a block.
struct NoNote {
  template <class Entry>
  void add(const Entry& /*entry*/) noexcept {}
};

/// A sorted sequence of distinct entries in blocks of neighbors: an insertion or removal moves only
/// the rest of its block, and a walk reads contiguous memory. A `Note` summarises a block so that a
/// search may skip it: it is updated at insertions and, if it asks for that, at removals; otherwise
/// it must stay true after a removal.
template <class Entry, class Note = NoNote, std::size_t kMostOfBlock = 128>
class SortedLine {
 public:
  struct Block {
    std::vector<Entry> entries;
    mutable Note note;
  };

  /// Goes over the entries in order, while none comes or goes.
  class Cursor {
   public:
    explicit Cursor(const std::vector<Block>& blocks) : blocks_(&blocks) {}

    [[nodiscard]] bool is_at_end() const noexcept { return block_ == blocks_->size(); }
    [[nodiscard]] const Entry& operator*() const noexcept {
      return (*blocks_)[block_].entries[at_];
    }
    [[nodiscard]] const Entry* operator->() const noexcept { return &**this; }
    Cursor& operator++() noexcept {
      if (++at_ == (*blocks_)[block_].entries.size()) {
        ++block_;
        at_ = 0;
      }
      return *this;
    }

   private:
    const std::vector<Block>* blocks_;
    std::size_t block_ = 0;
    std::size_t at_ = 0;
  };

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] Cursor begin() const noexcept { return Cursor(blocks_); }
  /// None is empty.
  [[nodiscard]] const std::vector<Block>& blocks() const noexcept { return blocks_; }
  /// The entries that do not end before an entry, or another comparable value.
  template <class Place>
  [[nodiscard]] std::span<const Block> blocks_from(const Place& place) const {
    return {block_of(blocks_, place), blocks_.end()};
  }

  void clear() noexcept {
    blocks_.clear();
    size_ = 0;
  }

  void insert(const Entry& entry) {
    if (blocks_.empty()) blocks_.emplace_back();
    auto at = block_of(blocks_, entry);
    if (at == blocks_.end()) --at;
    std::vector<Entry>& entries = at->entries;
    entries.insert(std::lower_bound(entries.begin(), entries.end(), entry), entry);
    at->note.add(entry);
    ++size_;
    if (entries.size() <= kMostOfBlock || entries.size() <= most_of_block()) return;
    const auto middle = entries.begin() + static_cast<std::ptrdiff_t>(entries.size() / 2);
    Block upper = block_with({middle, entries.end()});
    *at = block_with({entries.begin(), middle});
    blocks_.insert(at + 1, std::move(upper));
  }

  /// All of them, which are sorted here.
  void insert_all(std::vector<Entry>& entries) {
    if (!std::is_sorted(entries.begin(), entries.end())) std::sort(entries.begin(), entries.end());
    if (entries.size() < kFew || entries.size() * kFew < size_) {
      for (const Entry& entry : entries) insert(entry);
      return;
    }
    std::vector<Entry> all;
    all.reserve(size_ + entries.size());
    for (const Block& block : blocks_) {
      all.insert(all.end(), block.entries.begin(), block.entries.end());
    }
    all.insert(all.end(), entries.begin(), entries.end());
    std::inplace_merge(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(size_), all.end());
    size_ = all.size();
    blocks_.clear();
    const std::size_t half = most_of_block() / 2;
    for (std::size_t at = 0; at < size_; at += half) {
      const auto first = all.begin() + static_cast<std::ptrdiff_t>(at);
      const std::size_t num = std::min(half, size_ - at);
      blocks_.push_back(block_with({first, first + static_cast<std::ptrdiff_t>(num)}));
    }
  }

  /// Replaces the equivalent entry, which must exist.
  void replace(const Entry& entry) {
    const auto at = block_of(blocks_, entry);
    *std::lower_bound(at->entries.begin(), at->entries.end(), entry) = entry;
    note_all(*at);
  }

  /// Removes an entry, which must exist.
  void erase(const Entry& entry) {
    const auto at = block_of(blocks_, entry);
    at->entries.erase(std::lower_bound(at->entries.begin(), at->entries.end(), entry));
    if constexpr (requires { at->note.remove(entry); }) at->note.remove(entry);
    if (at->entries.empty()) blocks_.erase(at);
    --size_;
  }

 private:
  /// From this number, and this part of the line, on, insertions are merged at once.
  static constexpr std::size_t kFew = 16;

  /// Blocks of a long line are longer, lest there be too many to move where one more comes.
  [[nodiscard]] std::size_t most_of_block() const noexcept {
    return std::max(kMostOfBlock,
                    static_cast<std::size_t>(std::sqrt(static_cast<double>(size_)) / 4));
  }

  static Block block_with(std::vector<Entry> entries) {
    Block block{std::move(entries), {}};
    note_all(block);
    return block;
  }
  static void note_all(Block& block) {
    Note note;  // on its own, for the compiler to keep it in registers
    for (const Entry& entry : block.entries) note.add(entry);
    block.note = std::move(note);
  }

  /// The first block that does not end before the entry; of one that is empty the line consists.
  template <class Blocks, class Place>
  [[nodiscard]] static auto block_of(Blocks& blocks, const Place& place) {
    return std::partition_point(blocks.begin(), blocks.end(), [&](const Block& block) {
      return !block.entries.empty() && block.entries.back() < place;
    });
  }

  std::vector<Block> blocks_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
