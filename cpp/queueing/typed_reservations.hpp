#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/run_control.hpp"
#include "base/time.hpp"
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

/// Reservations that have not come, of jobs that may run on different types of GPUs: by the rule in
/// plain words, from a profile that is made anew whenever it is asked.
class TypedReservations {
 public:
  struct Held {
    JobId job;
    Time at;
  };

  /// The sets of types that jobs ask for, of those in the cluster.
  [[nodiscard]] static std::vector<TypeMask> type_sets(const State& state);

  /// `state` outlives this.
  void begin(const State& state);

  [[nodiscard]] bool empty() const noexcept { return held_.empty(); }
  /// The first instant; kNever without a reservation.
  [[nodiscard]] Time first() const;
  /// Takes out all that start at the first instant, by JobId.
  [[nodiscard]] std::vector<Held> pop();
  void withdraw(JobId job) { held_.erase(job); }

  /// Those who arrive take their earliest fits beside those that run, want their GPUs from now on,
  /// or have a reservation. If a job has ended early, these each move up before, by JobId.
  void reserve(const RunningIndex& running, std::span<const JobId> waiting,
               std::span<const JobId> arrived, bool is_early, const RunControl& control);

 private:
  /// From an instant until the next: of each type the GPUs that are held, and what each set of
  /// types is wanted of.
  struct Step {
    std::vector<std::int64_t> held;
    std::vector<std::int64_t> wanted;
  };

  [[nodiscard]] std::size_t set_of(JobId job) const;
  void lay_out(const RunningIndex& running, std::span<const JobId> waiting);
  /// From `begin` on for as long as the job is estimated to run; -1: gives it back.
  void claim(JobId job, Time begin, int sign);
  [[nodiscard]] std::map<Time, Step>::iterator step_at(Time at);
  [[nodiscard]] Time earliest(JobId job);

  Ref<const State> state_;
  std::vector<TypeMask> sets_;
  std::vector<std::int64_t> size_;  // GPUs of each type
  std::vector<std::int64_t> free_;  // of each type at one instant
  DealtGpus dealt_;
  std::map<JobId, Time> held_;
  std::map<Time, Step> steps_;
};

}  // namespace gpusched
