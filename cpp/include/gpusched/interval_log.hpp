#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gpusched/allocation.hpp"
#include "gpusched/time.hpp"

namespace gpusched {

/// A sequence that grows without moving what it has: no copy, and no peak of twice the size.
template <class Value>
class ChunkedVector {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  void push_back(const Value& value) {
    if ((size_ & kMask) == 0) {
      chunks_.push_back(std::make_unique_for_overwrite<std::array<Value, kChunk>>());
    }
    (*chunks_[size_ >> kShift])[size_ & kMask] = value;
    ++size_;
  }

  [[nodiscard]] const Value& operator[](std::size_t index) const noexcept {
    return (*chunks_[index >> kShift])[index & kMask];
  }

 private:
  static constexpr std::size_t kShift = 14;
  static constexpr std::size_t kChunk = std::size_t{1} << kShift;
  static constexpr std::size_t kMask = kChunk - 1;

  std::vector<std::unique_ptr<std::array<Value, kChunk>>> chunks_;
  std::size_t size_ = 0;
};

/// A job held GPUs of one server, or of the pool, from `start_us` to `end_us`.
struct IntervalRow {
  std::int64_t job;
  std::int64_t start_us;
  std::int64_t end_us;
  std::int64_t server;
  GpuMask mask;
};

/// Who held which GPUs when, appended as allocations end.
class IntervalLog {
 public:
  void append(JobId job, Time start, Time end, std::span<const Piece> pieces) {
    intervals_.push_back({start, end, job, static_cast<std::uint32_t>(pieces.size())});
    for (const Piece& piece : pieces) pieces_.push_back(piece);
  }

  [[nodiscard]] std::size_t size() const noexcept { return intervals_.size(); }

  /// One row per interval and server, adjacent equal ones merged, sorted by (job, start, server).
  [[nodiscard]] std::vector<IntervalRow> rows(std::size_t num_jobs) const;

 private:
  struct Interval {
    Time start;
    Time end;
    JobId job;
    std::uint32_t num_pieces;
  };

  ChunkedVector<Interval> intervals_;
  ChunkedVector<Piece> pieces_;
};

}  // namespace gpusched
