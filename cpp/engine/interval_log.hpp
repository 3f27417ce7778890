#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/time.hpp"
#include "model/allocation.hpp"

namespace gpusched {

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
  /// The job of the interval that was appended last; there is one.
  [[nodiscard]] JobId last_job() const noexcept { return intervals_.back().job; }

  /// What an interval with so many pieces takes.
  static constexpr std::size_t bytes_of(std::size_t num_pieces) noexcept {
    return sizeof(Interval) + num_pieces * sizeof(Piece);
  }

  /// One row per interval and server, sorted by (job, start, server).
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
