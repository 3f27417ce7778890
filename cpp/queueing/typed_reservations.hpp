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

/// GPUs of several types, dealt out to those who may take some of the types: as many as can be.
class DealtGpus {
 public:
  /// The sets of types that somebody may take.
  void begin(std::span<const TypeMask> sets, int num_types);

  /// Whether `gpus` GPUs of a set are left if of `free` of each type the sets get as many of what
  /// they want as they can.
  [[nodiscard]] bool leaves(std::span<const std::int64_t> free,
                            std::span<const std::int64_t> wanted, std::size_t set,
                            std::int64_t gpus);
  /// How many of each set, likewise.
  void find_left(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                 std::vector<std::int64_t>& left);
  /// Whether all sets get what they want.
  [[nodiscard]] bool suffice(std::span<const std::int64_t> free,
                             std::span<const std::int64_t> wanted);

 private:
  [[nodiscard]] std::int64_t& given(std::size_t who, std::size_t type) noexcept {
    return given_[who * num_types_ + type];
  }
  /// Gives as many of what is wanted as it can, of which others may have to take other types.
  [[nodiscard]] std::int64_t deal(std::size_t who, std::int64_t wanted);
  [[nodiscard]] std::size_t find_free(std::size_t who);

  std::size_t num_types_ = 0;
  std::vector<TypeMask> sets_;  // the last is who asks
  std::vector<std::int64_t> left_;   // of each type
  std::vector<std::int64_t> given_;  // of each type to each set
  // How a type was reached: from which other, by a set that has some of it.
  std::vector<std::size_t> from_;
  std::vector<std::size_t> by_;
  std::vector<std::size_t> reached_;
};

/// Reservations of jobs that may run on different types of GPUs, in a profile over time: the GPUs
/// that are held of each type, and those that are wanted of each set of types. A search goes on
/// where the last one in vain for its set and width left off, until something may have come free.
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
  /// Takes out all that start at the first instant, by JobId. From then on they want their GPUs from
  /// now on, whenever one asks, until they start.
  [[nodiscard]] std::vector<Held> pop();
  void withdraw(JobId job);
  /// One that was due runs.
  void start(JobId job);
  /// A job has ended, before others start; its run was expected to end then.
  void finish(JobId job, Time end);

  /// Those who arrive take their earliest fits beside those that run, are due, or have a
  /// reservation. If a job has ended early, these each move up before, by JobId.
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
  /// By a job in its slot.
  void hold(JobId job, Time begin, Time end, int sign);
  /// Forgets the searches in vain for those sets of which more is left after than before.
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
  Time overdue_at_ = kNever;  // when one asked last: who was overdue held its GPUs for a tick
  std::vector<std::map<std::int64_t, NoFitCache>> no_fit_;  // of each set by width
};

}  // namespace gpusched
