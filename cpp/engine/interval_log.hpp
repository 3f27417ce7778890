#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.hpp"
#include "base/time.hpp"
#include "model/allocation.hpp"
#include "seams/job_record.hpp"

namespace gpusched {

/// A job held GPUs of one server, or of the pool, from `start_us` to `end_us`.
struct IntervalRow {
  std::int64_t job;
  std::int64_t start_us;
  std::int64_t end_us;
  std::int64_t server;
  GpuMask mask;
};

/// The intervals in which jobs held GPUs, appended as allocations end.
class IntervalLog {
 public:
  /// Nothing where the job has not held them for a tick: the run ends where it began.
  void append(JobId job, Time start, Time end, std::span<const Piece> pieces) {
    if (start == end) return;
    append(job, false, pieces);
    times_.push_back({start, end});
  }
  /// The same of a job that held them from its first start to its finish, as its record says.
  void append_whole(JobId job, std::span<const Piece> pieces) { append(job, true, pieces); }

  [[nodiscard]] std::size_t size() const noexcept { return intervals_.size(); }
  /// The job of the interval that was appended last; there is one.
  [[nodiscard]] JobId last_job() const noexcept { return intervals_.back().job; }

  /// Minimum bytes of an interval with this many pieces.
  static constexpr std::size_t bytes_of(std::size_t num_pieces) noexcept {
    return sizeof(Interval) + num_pieces * sizeof(Piece);
  }

  /// One row per interval and server, sorted by (job, start, server). Intervals of a job that touch
  /// and have the same GPUs of all servers are one.
  [[nodiscard]] std::vector<IntervalRow> rows(const JobRecords& records,
                                              std::size_t num_jobs) const;

 private:
  struct Interval {
    JobId job;
    std::uint32_t is_whole : 1;
    std::uint32_t num_pieces : 31;
  };
  struct Times {
    Time start;
    Time end;
  };

  static constexpr std::uint32_t kMostPieces = ~std::uint32_t{0} >> 1;

  void append(JobId job, bool is_whole, std::span<const Piece> pieces) {
    intervals_.push_back({job, is_whole, static_cast<std::uint32_t>(pieces.size()) & kMostPieces});
    for (const Piece& piece : pieces) pieces_.push_back(piece);
  }

  ChunkedVector<Interval> intervals_;
  ChunkedVector<Times> times_;  // of those that are not whole
  ChunkedVector<Piece> pieces_;
};

}  // namespace gpusched
