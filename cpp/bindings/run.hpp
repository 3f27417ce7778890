#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/run_control.hpp"
#include "data.hpp"
#include "engine/event.hpp"
#include "engine/schedule.hpp"
#include "model/cluster.hpp"
#include "runs/run_description.hpp"

namespace gpusched::bindings {

/// When a job first held GPUs, -1 for never, and on which servers.
struct FirstStart {
  std::int64_t start_us = -1;
  std::vector<ServerId> servers;
};

/// A simulation with everything that it borrows, except Python objects, which the caller keeps
/// alive.
class Run {
 public:
  Run(const OwnedJobTable& jobs, const Cluster& cluster, const RunDescription& description,
      RunControl* control, const Snapshot* snapshot = nullptr);

  /// Handles all instants before the arrival of job `num_jobs`.
  void advance(std::uint64_t num_jobs);
  /// The jobs that have finished in `advance` since the last call, and when.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> take_finished();
  /// Runs to the end.
  Schedule finish();
  /// The schedule until a stop, once: held GPUs count until then. Its only warning is the reason of
  /// the stop, because waiting jobs are expected then.
  Schedule so_far(std::string why);

  /// Whether it ended with an error that leaves `so_far`.
  [[nodiscard]] bool is_stopped() const noexcept { return phase_ == Phase::stopped; }

  /// Handles at most `most` instants before `limit`, and returns their number. `keeps_finished`:
  /// for `take_finished`.
  std::uint64_t proceed(Time limit, std::uint64_t most, bool keeps_finished);
  /// Handles instants until each of the jobs, which have arrived, has held GPUs, or none is left.
  std::vector<FirstStart> go_until_start(const std::vector<JobId>& jobs);
  /// The next instant, or kNever.
  [[nodiscard]] Time next();
  /// The schedule so far, while the run goes on: held GPUs count until now.
  [[nodiscard]] Schedule glimpse();
  /// An independent copy of the run at this point; see DescribedRun::fork.
  [[nodiscard]] std::unique_ptr<Run> fork(const OwnedJobTable& jobs, const Cluster& cluster,
                                          const RunDescription& description);
  /// See these of Simulation and DescribedRun::hand_over; `at` is the next unhandled tick. If they
  /// throw, the run is unchanged and can go on.
  void cancel(JobId job, Time at);
  void hold(JobId job, Time at);
  void release(JobId job, Time at);
  void ask(Time at);
  void hand_over(const RunDescription& description, Time at);
  /// Whether from now on all that happens is kept for `take_events`.
  void listen(bool is_listening);
  [[nodiscard]] std::vector<Event> take_events();
  /// Jobs that wait or run, by id.
  [[nodiscard]] const std::vector<JobId>& live();
  /// Throws InvalidInput while the run is at work, and once it has ended with an error.
  const Simulation& halted() const;

 private:
  enum class Phase : std::uint8_t { halted, working, stopped, over };

  Run(const Run& from, const RunDescription& description);

  template <class Work>
  void guarded(Work work);
  template <class Work>
  auto attempt(bool is_native, Work work);
  void keep_finished();
  void check_open() const;
  void check_next(Time at);

  const JobTable& jobs_;
  bool is_native_;
  // Read and written with the GIL only.
  Phase phase_ = Phase::halted;
  RunControl own_control_;
  RunControl& control_;
  std::unique_ptr<DescribedRun> run_;
  std::vector<std::int64_t> finished_;
  std::vector<std::int64_t> finish_us_;
  std::vector<Event> events_;
  std::vector<JobId> live_;
  JobId num_seen_ = 0;  // of the jobs that have arrived, in `live_`
};

}  // namespace gpusched::bindings
