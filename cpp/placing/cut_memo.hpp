#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace gpusched {

/// Remembers rows of numbers by keys that are rows of numbers, in bounded memory: what would pass
/// the bound makes it forget all the others.
class CutMemo {
 public:
  using Row = std::vector<std::int32_t>;

  explicit CutMemo(std::size_t most_bytes) : most_bytes_(most_bytes) {}

  [[nodiscard]] std::size_t size() const noexcept { return rows_.size(); }
  /// Memory that the rows and their keys take: at most the bound, or one entry.
  [[nodiscard]] std::size_t num_bytes() const noexcept { return num_bytes_; }

  /// Null where the key is not known. Valid until the next `remember`.
  [[nodiscard]] const Row* find(std::span<const std::int32_t> key) const {
    const auto found = rows_.find(key);
    return found == rows_.end() ? nullptr : &found->second;
  }

  /// The key must not be known.
  const Row& remember(const Row& key, const Row& row) {
    const std::size_t bytes = kNodeBytes + (key.size() + row.size()) * sizeof(std::int32_t);
    if (num_bytes_ + bytes > most_bytes_) {
      rows_.clear();
      num_bytes_ = 0;
    }
    num_bytes_ += bytes;
    return rows_.emplace(key, row).first->second;
  }

 private:
  /// Bytes of an entry besides its numbers.
  static constexpr std::size_t kNodeBytes = 128;

  /// Keys are compared as they are looked up, without a copy.
  struct Before {
    using is_transparent = void;
    bool operator()(std::span<const std::int32_t> a, std::span<const std::int32_t> b) const {
      return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
    }
  };

  std::size_t most_bytes_;
  std::size_t num_bytes_ = 0;
  std::map<Row, Row, Before> rows_;
};

}  // namespace gpusched
