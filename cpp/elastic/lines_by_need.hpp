#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "elastic/sorted_line.hpp"

namespace gpusched {

/// A key in the order of numbers that are not negative.
[[nodiscard]] inline std::int64_t key_of(double number) noexcept {
  return std::bit_cast<std::int64_t>(number + 0.0);
}

/// Waiting jobs, one line for all with the same need, ordered by a key that does not change while
/// they wait, then by JobId. Giving out GPUs costs one look per job that fits, and one per need
/// otherwise, however many jobs wait.
template <class Need, class Item, class Note = NoNote>
class LinesByNeed {
 public:
  using LineId = std::uint32_t;
  struct Entry {
    std::int64_t key;
    JobId id;
    Item item;

    friend bool operator<(const Entry& a, const Entry& b) noexcept {
      return a.key != b.key ? a.key < b.key : a.id < b.id;
    }
  };
  struct Line {
    Need need;
    SortedLine<Entry, Note> entries;
    std::vector<Entry> came;  ///< to be taken up by `settle`
  };

  void clear() noexcept {
    lines_.clear();
    known_.clear();
    size_ = 0;
  }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// Some of them may be empty.
  [[nodiscard]] const std::vector<Line>& all() const noexcept { return lines_; }

  [[nodiscard]] LineId line_of(const Need& need) {
    const auto [known, is_new] = known_.try_emplace(need, static_cast<LineId>(lines_.size()));
    if (is_new) lines_.push_back({need, {}, {}});
    return known->second;
  }
  /// Adds an entry to its line at the next `settle`.
  void add(LineId line, Entry entry) {
    lines_[line].came.push_back(std::move(entry));
    ++size_;
  }
  void settle() {
    for (Line& line : lines_) {
      if (line.came.empty()) continue;
      line.entries.insert_all(line.came);
      line.came.clear();
    }
  }
  void erase(LineId line, const Entry& entry) {
    lines_[line].entries.erase(entry);
    --size_;
  }

  /// The jobs of all lines in one order, without those whose need no longer fits: the free GPUs
  /// must not grow during the walk.
  class Walk {
   public:
    explicit Walk(const LinesByNeed& lines) : lines_(&lines) {
      for (std::size_t line = 0; line < lines.lines_.size(); ++line) {
        const SortedLine<Entry, Note>& entries = lines.lines_[line].entries;
        if (!entries.empty()) heads_.push_back({entries.begin(), line});
      }
      std::make_heap(heads_.begin(), heads_.end());
    }

    /// The next job with a need that `fits`; null if there is none.
    template <class Fits>
    [[nodiscard]] const Entry* first(Fits fits) {
      while (!heads_.empty() && !fits(lines_->lines_[heads_.front().line].need)) drop_line();
      return heads_.empty() ? nullptr : &*heads_.front().at;
    }
    /// Advances behind it.
    void pop() {
      std::pop_heap(heads_.begin(), heads_.end());
      if ((++heads_.back().at).is_at_end()) {
        heads_.pop_back();
      } else {
        std::push_heap(heads_.begin(), heads_.end());
      }
    }
    /// Leaves out all that need what it needs.
    void drop_line() {
      std::pop_heap(heads_.begin(), heads_.end());
      heads_.pop_back();
    }

   private:
    struct Head {
      typename SortedLine<Entry, Note>::Cursor at;
      std::size_t line;

      /// For a heap with the first one on top.
      friend bool operator<(const Head& a, const Head& b) noexcept { return *b.at < *a.at; }
    };

    const LinesByNeed* lines_;
    std::vector<Head> heads_;
  };

 private:
  std::vector<Line> lines_;
  std::map<Need, LineId> known_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
