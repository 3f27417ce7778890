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

/// A simulation with all that it borrows, but for the objects of Python: whoever makes it keeps
/// those alive.
class Run {
 public:
  Run(const OwnedJobTable& jobs, const Cluster& cluster, const RunDescription& description,
      RunControl* control, const Snapshot* snapshot = nullptr);

  /// Handles all instants before the arrival of job `num_jobs`.
  void advance(std::uint64_t num_jobs);
  /// The jobs that have finished in `advance` since the last call, and when.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> take_finished();
  /// Goes on to the end.
  Schedule finish();
  /// What was done until a stop, once: what held GPUs held them until then. Its only warning is
  /// why it ended; that jobs wait is no wonder then.
  Schedule so_far(std::string why);

  /// Whether it ended with an error that leaves `so_far`.
  [[nodiscard]] bool is_stopped() const noexcept { return phase_ == Phase::stopped; }

  /// Handles at most so many instants before `limit`, and returns how many there were.
  /// `keeps_finished`: for `take_finished`.
  std::uint64_t proceed(Time limit, std::uint64_t most, bool keeps_finished);
  /// Handles instants until each of the jobs, which have arrived, has held GPUs, or none is left.
  std::vector<FirstStart> go_until_start(const std::vector<JobId>& jobs);
  /// The next instant; kNever where there is none.
  [[nodiscard]] Time next();
  /// The run so far, which goes on: what holds GPUs held them until now.
  [[nodiscard]] Schedule glimpse();
  /// A run that has come as far and goes on by itself; see DescribedRun::fork.
  [[nodiscard]] std::unique_ptr<Run> fork(const OwnedJobTable& jobs, const Cluster& cluster,
                                          const RunDescription& description);
  /// See Simulation::cancel, Simulation::ask and DescribedRun::hand_over; `at` is the next tick that
  /// was not handled. Where they throw the run is as it was, and goes on.
  void cancel(JobId job, Time at);
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
