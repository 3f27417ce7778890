#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_classes.hpp"
#include "model/job_table.hpp"

namespace gpusched {

/// Waiting jobs by arrival, queried for the first of a class that is short enough: lower bounds on
/// the estimates of blocks, and of blocks of blocks, skip longer ones, and a job that was too long
/// for a query is not examined again by queries for shorter jobs.
class BackfillQueue {
 public:
  /// `jobs` and `classes` outlive the queue.
  void begin(const JobTable& jobs, const JobClasses& classes);

  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  [[nodiscard]] std::size_t num_waiting(ClassId id) const noexcept {
    return lines_[id].num_waiting;
  }

  /// The waiting job of the class with the lowest JobId; kNoJob if there is none.
  [[nodiscard]] JobId first(ClassId id) const noexcept {
    const Line& line = lines_[id];
    return line.num_waiting == 0 ? kNoJob : line.jobs[line.head];
  }

  /// No waiting job of the class is estimated to be shorter, mostly one is as short; kNever if
  /// there is none.
  [[nodiscard]] Time shortest(ClassId id) const noexcept;

  /// In any order, but a job that comes after all others of its class costs no more than itself.
  void add(JobId job);
  void remove(JobId job);

  /// The first waiting job of the class after `after` whose estimate is at most `longest`; kNoJob
  /// if there is none.
  [[nodiscard]] JobId next(ClassId id, JobId after, Time longest) noexcept;

 private:
  static constexpr std::size_t kBlock = 64;
  static constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::max();

  /// The jobs in places [begin, end) are longer than that, or gone.
  struct Passed {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::int64_t longest = -1;
  };

  /// The jobs of one class that have waited or wait, with their estimates (kGone once they left).
  struct Line {
    std::vector<JobId> jobs;
    std::vector<std::int64_t> estimate;
    // Lower bound of a block. A removal does not raise it; an unsuccessful search does.
    std::vector<std::int64_t> block_least;
    std::vector<std::int64_t> super_least;
    std::size_t head = 0;  // all before it are gone
    Passed passed;
    std::size_t num_waiting = 0;
  };

  /// The position of the job in the line, or where it would be.
  [[nodiscard]] static std::size_t place_of(const Line& line, JobId job);
  /// The first position from `from` on with a short enough job; the number of positions if none.
  [[nodiscard]] static std::size_t find(Line& line, std::size_t from, std::int64_t longest);
  static void raise(Line& line, std::size_t block);
  static void insert(Line& line, JobId job, std::int64_t estimate);
  static void bound_blocks(Line& line, std::size_t first);
  static void bound_supers(Line& line);
  static void compact(Line& line);

  const JobTable* jobs_ = nullptr;
  const JobClasses* classes_ = nullptr;
  std::vector<Line> lines_;
  std::size_t size_ = 0;
};

}  // namespace gpusched
