#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "model/job_classes.hpp"
#include "queueing/class_heads.hpp"
#include "queueing/head_reservation.hpp"
#include "queueing/keyed_job.hpp"
#include "queueing/placeable_classes.hpp"
#include "queueing/running_index.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// The reservations of several waiting jobs at one decision, by estimates: each has a start, and
/// GPUs from then on for its estimated run time. Recomputed at every decision, from a step function
/// of the free GPUs. Whole GPUs only.
class Reservations {
 public:
  /// `running` are the running jobs by their expected ends; it outlives this. `admits_extra` and
  /// `margin`: as of HeadReservation.
  void begin(const Setup& setup, const RunningIndex& running, bool admits_extra, Time margin);

  void clear() noexcept {
    held_.clear();
    steps_.clear();
  }
  /// Call when a job has started.
  void forget_steps() noexcept { steps_.clear(); }
  /// Reserves the first instant at which the job fits besides all earlier reservations; none if it
  /// waits for withheld GPUs.
  void add(const State& state, JobId job);
  /// Whether all reservations still hold if the job starts now on these GPUs, as it then does.
  [[nodiscard]] bool admits(const State& state, JobId job, const Allocation& allocation);

 private:
  struct Held {
    Time begin;
    Time end;
    int gpus;
    std::int64_t touching;  // GPUs of jobs that start in this decision and end at the start
    std::vector<Piece> pieces;
  };

  /// Free GPUs from an instant until the next step: from now on, and from each end of a running job
  /// or a reservation on. As reservations begin at ends, there are no other steps.
  struct Step {
    Time at;
    std::int64_t free;
  };

  /// Lays them out unless that is done. An end that has passed counts as the next tick.
  void lay_out_steps(const State& state);
  [[nodiscard]] std::size_t step_at(Time at);
  void take(const Held& held);
  /// The first step after `step` from which enough GPUs are free for long enough; the number of
  /// steps if there is none.
  [[nodiscard]] std::size_t next_fit(std::size_t step, std::int64_t gpus, Time length) const;
  [[nodiscard]] bool is_free(std::size_t& step, std::int64_t gpus, Time end) const;
  [[nodiscard]] bool touch(std::int64_t gpus, Time end);
  [[nodiscard]] bool find(const State& state, const Request& request, Time length, Held& held);
  [[nodiscard]] bool accepts(const Request& request, Time begin, Time end);

  Ref<Placement> placement_;
  Ref<const RunningIndex> running_;
  bool admits_extra_ = true;
  Time margin_{0};
  std::vector<Held> held_;
  std::vector<Step> steps_;
  Allocation allocation_;
  Allocation taken_;
  std::optional<Occupancy> free_;  // at the instant that is looked at, but for promises
  std::optional<Occupancy> left_;  // and with them
};

/// The waiting jobs of each class by (key, JobId), and a walk over all of them in that order, in
/// which a class that cannot start is passed over in one step.
class KeyedLines {
 public:
  /// `classes` outlive this.
  void begin(const JobClasses& classes);

  void add(ClassId id, KeyedJob job);
  void remove(ClassId id, KeyedJob job);

  /// The next job of each class.
  [[nodiscard]] const ClassHeads& heads() const noexcept { return heads_; }
  /// The class's next job is passed over.
  void pass(ClassId id);
  /// Skips the rest of the class until a job starts.
  void hold(ClassId id);
  /// The rest of the class is passed over.
  void close(ClassId id) { heads_.close(id); }
  /// The next job, of that class, starts: it is taken out.
  void start(ClassId id);
  /// The walk ends, and the next one begins with the first job.
  void end_walk();

 private:
  using Line = std::set<KeyedJob>;

  void show(ClassId id, Line::const_iterator head) {
    heads_.set(id, head == lines_[id].end() ? kNoKeyedJob : *head);
  }

  std::vector<Line> lines_;
  ClassHeads heads_;  // the position of the walk in each line
  std::vector<ClassId> moved_;  // by the walk, some more than once
  std::vector<ClassId> held_;
};

/// How backfilling may differ from EASY's.
struct BackfillRule {
  /// Whether a later job may run past a reserved start on GPUs that the reservation leaves over.
  bool admits_extra = true;
  /// Number of waiting jobs with a reservation.
  std::int64_t depth = 1;
  /// Whether the others are tried by estimate, and not in the order of the queue.
  bool shortest_first = false;
  /// So long before a reserved start a job on its GPUs must end.
  Time margin{0};
};

/// Backfilling with any rule. Every decision walks over the classes of jobs that may fit; each
/// reservation beyond the first takes time that grows with the running jobs and the other
/// reservations, and is made only once a later job would fit now.
class DeepBackfilling final : public Scheduler {
 public:
  explicit DeepBackfilling(const BackfillRule& rule) : rule_(rule) {}

  void begin(const Setup& setup) override;
  [[nodiscard]] bool withdraw(const State& state, JobId job) override;
  [[nodiscard]] bool adopt(const State& state) override;
  [[nodiscard]] bool takes_outages() const override { return true; }
  void decide(const State& state, const Instant& instant, Actions& actions) override;

 private:
  enum class Outcome : std::uint8_t { refused, harmful, started };

  /// In the order of the queue.
  [[nodiscard]] static KeyedJob queued(const State& state, JobId job) {
    return {queue_key(state, job), job, state.jobs().precedence(job)};
  }
  /// In the order in which the jobs behind the reservations are tried.
  [[nodiscard]] KeyedJob keyed(const State& state, JobId job) const {
    if (!rule_.shortest_first) return queued(state, job);
    return {static_cast<double>(state.jobs().estimate(job).count()), job,
            state.jobs().precedence(job)};
  }
  [[nodiscard]] Outcome try_start(const State& state, JobId job, Actions& actions);
  void promise(const State& state, JobId job);
  void make_promises(const State& state);
  void walk_others(const State& state, const KeyedJob& last, Actions& actions);

  BackfillRule rule_;
  Ref<Placement> placement_;
  Ref<const RunControl> control_;
  bool is_slow_ = false;
  std::set<KeyedJob> waiting_;
  KeyedLines lines_;  // the same jobs, as keyed
  PlaceableClasses placeable_;
  HeadReservation head_;  // the only reservation, if depth is 1, and the running jobs
  Reservations promises_;  // if depth is above 1
  std::vector<JobId> promised_;  // and not made yet
  std::int64_t num_promised_ = 0;
  Allocation allocation_;
};

}  // namespace gpusched
