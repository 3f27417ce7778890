#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "elastic/lines_by_need.hpp"
#include "elastic/sorted_line.hpp"
#include "market/market_jobs.hpp"
#include "seams/scheduler.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The jobs of a run in which a market has no choice: GPUs are of one class, speeds are fixed, and
/// each job has its own width. The jobs with the least remaining GPU time run. Running jobs are
/// sorted by their ends, one line per width, so that a decision visits only jobs that start, stop,
/// or are next.
class OwnWidths {
 public:
  void begin(const State& state);
  /// Forgets the finished, takes up the arrived, and looks at the clock.
  void open(const State& state, const Instant& instant);
  /// A job is taken back while it waits.
  void forget(JobId id);
  [[nodiscard]] bool empty() const noexcept { return num_jobs_ == 0; }

  /// Finds the jobs to start and to stop (none if `may_stop` is false), by remaining GPU time, then
  /// by JobId.
  void choose(const State& state, bool may_stop);
  [[nodiscard]] std::span<const JobId> starts() const noexcept { return starts_; }
  [[nodiscard]] std::span<const JobId> stops() const noexcept { return stops_; }

  /// The waiting jobs, one per call, in the same order.
  [[nodiscard]] std::function<std::optional<JobId>()> waiting() const;
  /// Jobs that ran before this decision on more servers than they need, by the GPU time left.
  [[nodiscard]] std::span<const MatchingJobs::Job> spread() const noexcept { return spread_; }

  /// After the decision: those chosen, and `others` that started instead, hold what they hold, and
  /// `moved` ones may hold other GPUs.
  void update(const State& state, std::span<const JobId> others, std::span<const JobId> moved);

 private:
  using Lines = LinesByNeed<int, int>;  // by their widths

  struct Holder {
    std::int64_t end;  ///< as predicted
    JobId id;

    auto operator<=>(const Holder&) const = default;
  };
  /// The list that a job is in.
  enum class Place : std::uint8_t { nowhere, waiting, settling, holding };
  struct Job {
    Lines::LineId line = 0;
    std::int64_t key = 0;  ///< of those that wait, or the end as predicted
    Place place = Place::nowhere;
    bool is_spread = false;
  };

  [[nodiscard]] static bool is_any_width(int /*width*/) noexcept { return true; }
  [[nodiscard]] int width(Lines::LineId line) const noexcept { return waiting_.all()[line].need; }
  [[nodiscard]] std::int64_t key(int gpus, Time remaining) const noexcept;
  [[nodiscard]] Lines::Entry entry(Lines::LineId line, const Holder& holder,
                                   Time now) const noexcept;
  void wait(const State& state, JobId id);
  void hold(const State& state, JobId id);
  void leave(JobId id);
  void end_settling(const State& state);
  void watch_spread(const State& state);
  void drop_gone();
  /// Visits those of a width that run and are not settling, the last one first, until `visit` says
  /// no.
  template <class Visit>
  void for_each_from_last(Lines::LineId line, Time now, Visit visit) const;
  /// GPUs of those that run behind a place in the order and are not settling, or `enough`.
  [[nodiscard]] std::int64_t held_behind(const Lines::Entry& place, Time now,
                                         std::int64_t enough) const;
  void find_last(Time now, std::int64_t gpus);
  void choose_among_last(Lines::Walk& waiting, std::int64_t left);

  double num_gpus_ = 0;
  std::int64_t free_ = 0;
  std::size_t num_jobs_ = 0;
  Time opened_{0};
  std::vector<Job> jobs_;  // by JobId
  Lines waiting_;
  std::vector<SortedLine<Holder>> holders_;  // of each line
  std::vector<std::vector<Holder>> came_;    // to be taken up by the lines
  std::vector<JobId> settling_;              // those that run and pay for a restart: they stay
  std::vector<MatchingJobs::Job> spread_;
  std::vector<Lines::Entry> last_;
  std::vector<JobId> starts_, stops_, holding_;
};

}  // namespace gpusched
