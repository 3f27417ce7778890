#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "gangs/free_servers.hpp"

namespace gpusched {

/// A queue of jobs in contiguous memory. Free space in front is reclaimed once it is as long as the
/// queue; an emptied queue keeps its memory.
class RoundRobinQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return size() == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return jobs_.size() - front_; }
  [[nodiscard]] std::span<const JobId> jobs() const noexcept {
    return std::span(jobs_).subspan(front_);
  }

  void push_back(JobId job) { jobs_.push_back(job); }
  void erase(JobId job) {
    jobs_.erase(std::find(jobs_.begin() + static_cast<std::ptrdiff_t>(front_), jobs_.end(), job));
  }
  void clear() noexcept {
    jobs_.clear();
    front_ = 0;
  }
  /// The first `num` go behind all others but for those that stay; neither change their order.
  template <class Stays>
  void rotate(std::size_t num, Stays stays) {
    const std::size_t rest = front_ + num;
    std::size_t kept = front_;
    for (std::size_t at = front_; at < rest; ++at) {
      const JobId job = jobs_[at];
      if (stays(job)) {
        jobs_[kept++] = job;
      } else {
        jobs_.push_back(job);
      }
    }
    const auto begin = jobs_.begin();
    const auto from = begin + static_cast<std::ptrdiff_t>(front_);
    front_ = rest - (kept - front_);
    std::move_backward(from, begin + static_cast<std::ptrdiff_t>(kept),
                       begin + static_cast<std::ptrdiff_t>(rest));
    if (front_ < size()) return;
    jobs_.erase(begin, begin + static_cast<std::ptrdiff_t>(front_));
    front_ = 0;
  }

 private:
  std::vector<JobId> jobs_;
  std::size_t front_ = 0;
};

/// Servers, and the jobs that take turns there.
struct TurnSet {
  std::uint64_t name = 0;  ///< of no other set of the run
  ServerSet servers;
  std::size_t capacity = 0;    ///< jobs that run at once
  RoundRobinQueue line;               ///< of which the first run
  std::vector<JobId> running;  ///< since the last decision
  bool has_changed = false;    ///< whether others may have to run now
  bool is_left = false;        ///< whether jobs left it, so that its position may change

  [[nodiscard]] std::size_t num_running() const noexcept { return std::min(capacity, line.size()); }
  /// Resets to no owner, keeping the memory.
  void clear() noexcept {
    name = 0;
    servers = {};
    capacity = 0;
    line.clear();
    running.clear();
    has_changed = is_left = false;
  }
};

/// The sets of jobs of one width, those with fewer jobs first, ties as after a stable sort after
/// each change: sorted by number of jobs, and a job that joins or leaves moves only its set.
class RoundRobinGroups {
 public:
  using Index = std::uint32_t;

  [[nodiscard]] bool empty() const noexcept { return levels_.empty(); }
  [[nodiscard]] std::size_t num_sets() const noexcept { return sets_.size() - unused_.size(); }
  [[nodiscard]] std::int64_t num_jobs() const noexcept { return num_jobs_; }
  [[nodiscard]] std::int64_t num_waiting() const noexcept { return num_waiting_; }
  [[nodiscard]] std::int64_t num_gpus() const noexcept { return num_gpus_; }
  [[nodiscard]] const TurnSet& first() const noexcept { return sets_[levels_.back().sets.back()]; }
  /// Visits in order the sets where others may have to run since the last time.
  template <class Visit>
  void for_each_changed(Visit visit) {
    if (!has_changed_) return;
    for_each([&](Index index, TurnSet& set) {
      if (set.has_changed) visit(index, set);
      set.has_changed = false;
    });
    has_changed_ = false;
  }

  /// A set without jobs, before all others.
  void open_first(std::uint64_t name, ServerSet servers, int width);
  /// The job goes to the first set, behind all there.
  void join(JobId job);
  /// The job ends, or is taken back; to be followed by `settle`.
  void leave(Index set, JobId job);
  /// Moves sets that jobs have left to their positions.
  void settle();
  /// Where others wait those that ran go behind them, but for those that are paying.
  template <class IsPaying>
  void take_turns(IsPaying is_paying) {
    if (num_waiting_ == 0) return;
    for_each([&](Index, TurnSet& set) {
      const std::size_t num = set.num_running();
      if (set.line.size() == num) return;
      set.line.rotate(num, is_paying);
      mark(set);
    });
  }
  /// Where a job waits; none if it does not.
  [[nodiscard]] std::optional<Index> find(JobId job) const;
  /// Opens a set for each of `more`, behind all others, named from `name` on, and deals out all
  /// jobs again.
  void expand(std::uint64_t name, std::span<ServerSet> more, int width);
  /// Closes the first `num` sets, and visits each in its old state; its servers may be taken.
  template <class Visit>
  void close_first(std::size_t num, Visit visit) {
    for (; num > 0; --num) {
      const Index set = take_first();
      count(sets_[set], -1);
      num_gpus_ -= sets_[set].servers.gpus;
      visit(sets_[set]);
      sets_[set].clear();
      unused_.push_back(set);
    }
  }
  template <class Visit>
  void close_empty(Visit visit) {
    while (!empty() && first().line.empty()) close_first(1, visit);
  }

 private:
  /// The sets with equally many jobs, the first at the back.
  struct Level {
    std::size_t num_jobs;
    std::vector<Index> sets;
  };

  template <class Visit>
  void for_each(Visit visit) {
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      for (auto at = level->sets.rbegin(); at != level->sets.rend(); ++at) visit(*at, sets_[*at]);
    }
  }
  void mark(TurnSet& set) noexcept { has_changed_ = set.has_changed = true; }
  [[nodiscard]] Index make(std::uint64_t name, ServerSet servers, int width);
  /// Out of its level.
  [[nodiscard]] Index take_first();
  /// The level of sets with this many jobs, made if there is none; the caller must add a set.
  [[nodiscard]] std::vector<Index>& level(std::size_t num_jobs);
  [[nodiscard]] std::vector<Level>::iterator place_of(std::size_t num_jobs);
  void drop(std::vector<Level>::iterator level);
  void count(const TurnSet& set, int sign) noexcept {
    const std::size_t num_jobs = set.line.size();
    num_jobs_ += sign * static_cast<std::int64_t>(num_jobs);
    num_waiting_ += sign * static_cast<std::int64_t>(num_jobs - set.num_running());
  }

  std::vector<TurnSet> sets_;
  std::vector<Index> unused_;
  std::vector<Level> levels_;              // those with most jobs first; none is empty
  std::vector<std::vector<Index>> spare_;  // memory for levels
  std::vector<std::size_t> left_;          // the numbers that sets had before jobs left them
  std::int64_t num_jobs_ = 0;
  std::int64_t num_waiting_ = 0;
  std::int64_t num_gpus_ = 0;
  bool has_changed_ = false;
};

}  // namespace gpusched
