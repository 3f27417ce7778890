#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/run_control.hpp"
#include "base/time.hpp"
#include "queueing/held_reservations.hpp"
#include "queueing/running_index.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Assigns GPUs of several types to sets of allowed types: as many as possible.
class DealtGpus {
 public:
  /// The sets of types that jobs may use.
  void begin(std::span<const TypeMask> sets, int num_types);

  /// Whether `gpus` GPUs of a set are left after the sets got as many of their requested GPUs as
  /// possible, with `free` GPUs of each type.
  [[nodiscard]] bool leaves(std::span<const std::int64_t> free,
                            std::span<const std::int64_t> wanted, std::size_t set,
                            std::int64_t gpus);
  /// How many of each set, likewise.
  void find_left(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                 std::vector<std::int64_t>& left);
  /// Whether all sets get their requested GPUs.
  [[nodiscard]] bool suffice(std::span<const std::int64_t> free,
                             std::span<const std::int64_t> wanted);

 private:
  [[nodiscard]] std::int64_t& given(std::size_t who, std::size_t type) noexcept {
    return given_[who * num_types_ + type];
  }
  /// Assigns as many of the requested GPUs as possible; other sets may have to take other types.
  [[nodiscard]] std::int64_t deal(std::size_t who, std::int64_t wanted);
  [[nodiscard]] std::size_t find_free(std::size_t who);

  std::size_t num_types_ = 0;
  std::vector<TypeMask> sets_;  // the last is that of the query
  std::vector<std::int64_t> left_;   // of each type
  std::vector<std::int64_t> given_;  // of each type to each set
  // How a type was reached: from which other, by a set that has some of it.
  std::vector<std::size_t> from_;
  std::vector<std::size_t> by_;
  std::vector<std::size_t> reached_;
};

/// Reservations of jobs that may run on different types of GPUs, in a profile over time: the GPUs
/// held of each type, and those requested of each set of types. A search continues from where the
/// last failed one for its set and width ended, until GPUs may have been released.
class TypedReservations {
 public:
  struct Held {
    JobId job;
    Time at;
  };

  /// The sets of types that jobs ask for, of those in the cluster.
  [[nodiscard]] static std::vector<TypeMask> type_sets(const State& state);

  /// `state` outlives this. `searches_all`: every search begins now, the plain rule.
  void begin(const State& state, bool searches_all);

  [[nodiscard]] bool empty() const noexcept { return held_.empty(); }
  /// The first instant of those that are not due; kNever without any.
  [[nodiscard]] Time first() const noexcept {
    return starts_.empty() ? kNever : starts_.begin()->first;
  }
  /// Removes all reservations that start at the first instant, by JobId. From then on they claim
  /// their GPUs from the time of each query on, until they start.
  [[nodiscard]] std::vector<Held> pop();
  void withdraw(JobId job);
  /// One that was due runs.
  void start(JobId job);
  /// A job has ended, before others start; its run was expected to end then.
  void finish(JobId job, Time end);

  /// Arrivals get the earliest start besides running jobs, due jobs and reservations. If a job has
  /// ended early, reservations first move up, by JobId.
  void reserve(const RunningIndex& running, std::span<const JobId> arrived, bool is_early,
               const RunControl& control);

 private:
  /// From an instant until the next: of each type the GPUs that are held, and what each set of
  /// types is wanted of.
  struct Step {
    std::vector<std::int64_t> held;
    std::vector<std::int64_t> wanted;

    friend bool operator==(const Step&, const Step&) = default;
  };
  using Steps = std::map<Time, Step>;

  [[nodiscard]] std::size_t set_of(JobId job) const;
  void advance();
  /// From `begin` on for as long as the job is estimated to run; -1: gives it back.
  void claim(JobId job, Time begin, int sign) {
    claim(job, begin, begin + state_->jobs().estimate(job), sign);
  }
  void claim(JobId job, Time begin, Time end, int sign);
  /// Adds a running job.
  void hold(JobId job, Time begin, Time end, int sign);
  /// Forgets failed searches of the sets with more GPUs left than before.
  void forget_grown(const Step& before, const Step& after);
  void take(Step& step, JobId job, int sign) const;
  template <class Change>
  void change(Time begin, Time end, Change change);
  void move_due();
  void move_up(const RunControl& control);
  [[nodiscard]] Steps::iterator step_at(Time at);
  void tidy(Steps::iterator step);
  [[nodiscard]] std::span<const std::int64_t> free_in(const Step& step);
  [[nodiscard]] Time earliest(JobId job, Time from);
  [[nodiscard]] Time first_fit(JobId job);

  Ref<const State> state_;
  bool searches_all_ = false;
  std::vector<TypeMask> sets_;
  std::vector<std::int64_t> size_;  // GPUs of each type
  std::vector<std::int64_t> free_;  // of each type at one instant
  DealtGpus dealt_;
  std::map<JobId, Time> held_;
  std::set<std::pair<Time, JobId>> starts_;  // the same
  std::map<JobId, Time> due_;  // and since when they are laid out
  Steps steps_;
  std::vector<std::int64_t> left_before_;  // of each set
  std::vector<std::int64_t> left_after_;
  Time overdue_at_ = kNever;  // last query: overdue jobs held their GPUs for a tick
  std::vector<std::map<std::int64_t, NoFitCache>> no_fit_;  // of each set by width
};

}  // namespace gpusched
