#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/allocation.hpp"
#include "model/job_classes.hpp"
#include "model/job_table.hpp"
#include "seams/job_record.hpp"
#include "seams/occupancy.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// How a running job moves where its speed depends on its allocation. Service is counted in ticks
/// of an idle cluster; `done` is settled only when the rate changes.
struct Pace {
  Time since;         ///< when `done` was settled, or when the restart cost is paid
  double done;        ///< service done by `since`
  double first_done;  ///< and when the run began
  double rate;        ///< service per tick of time; above 1 on more GPUs than the job's own
  double free_rate;   ///< what the rate would be without contention
  double ideal_s;     ///< seconds per iteration at rate 1

  [[nodiscard]] double done_at(Time now) const noexcept {
    return now > since ? done + static_cast<double>((now - since).count()) * rate : done;
  }
};

/// A running job: its allocation, and when the present run began and will end.
struct Slot {
  Time start;
  Time work_end;  ///< when all its work is done, if nothing ends the run before
  Time kill_at;   ///< when its time limit ends the run
  Time cost;      ///< restart cost at the head of the run
  JobId job = kNoJob;
  std::int32_t gpus = 0;
  bool is_suspended = false;
  bool is_whole = false;  ///< the only run of its job, if it is not interrupted
  std::vector<Piece> pieces;

  [[nodiscard]] bool is_busy() const noexcept { return job != kNoJob; }
  /// When the run ends if nothing happens: with the work, or at the limit.
  [[nodiscard]] Time end() const noexcept { return std::min(work_end, kill_at); }
  /// When the restart is paid: progress begins.
  [[nodiscard]] Time paid_at() const noexcept { return start + cost; }
  /// Whether the job pays for a restart and has made no progress since.
  [[nodiscard]] bool is_restarting(Time now) const noexcept {
    return cost > Time{0} && now <= paid_at();
  }
};

/// The progress of a job if speeds depend on allocations.
struct JobProgress {
  double done = 0;         ///< service done in the runs that have ended
  double uncontended = 0;  ///< ticks that those would have taken without contention
};

/// A scheduler's view of a run. The engine writes it through a derived class.
class State {
 public:
  State& operator=(const State&) = delete;

  /// Distinguishes runs of one process, which addresses do not.
  [[nodiscard]] std::uint64_t run_id() const noexcept { return run_id_; }

  [[nodiscard]] Time now() const noexcept { return now_; }
  [[nodiscard]] const JobTable& jobs() const noexcept { return jobs_; }
  [[nodiscard]] const Speed& speed() const noexcept { return *speed_; }
  [[nodiscard]] const JobClasses& classes() const noexcept { return *classes_; }
  [[nodiscard]] const Occupancy& occupancy() const noexcept { return occupancy_; }
  [[nodiscard]] const Cluster& cluster() const noexcept { return occupancy_.cluster(); }
  /// GPUs that the run may use: of each type, or in a pool of all together. Withheld GPUs are
  /// excluded, so this is the budget for planning over the whole cluster.
  [[nodiscard]] const std::vector<std::int64_t>& gpus_up_by_type() const noexcept { return up_; }
  [[nodiscard]] std::int64_t gpus_up() const noexcept { return num_up_; }

  /// Jobs that have arrived by now: rows [0, num_arrived).
  [[nodiscard]] JobId num_arrived() const noexcept { return num_arrived_; }
  [[nodiscard]] std::size_t num_running() const noexcept { return num_running_; }
  /// The running jobs are the busy slots.
  [[nodiscard]] std::span<const Slot> slots() const noexcept { return slots_; }
  /// Visits the slots of the running jobs, in an order that says nothing.
  template <class Visit>
  void for_each_running(Visit visit) const {
    for (const Slot& run : slots_) {
      if (run.is_busy()) visit(run);
    }
  }
  [[nodiscard]] bool is_running(JobId job) const noexcept {
    return records_[job].phase == Phase::running;
  }
  [[nodiscard]] bool is_restarting(JobId job) const noexcept {
    return is_running(job) && slot(job).is_restarting(now_);
  }
  [[nodiscard]] bool is_waiting(JobId job) const noexcept {
    return job < num_arrived_ && records_[job].phase == Phase::waiting;
  }
  /// Whether the job has arrived and is not in the queue yet: policies are not shown it.
  [[nodiscard]] bool is_held(JobId job) const noexcept {
    return job < num_arrived_ && records_[job].phase == Phase::held;
  }
  /// Whether it has arrived and is not over.
  [[nodiscard]] bool is_live(JobId job) const noexcept {
    return job < num_arrived_ && records_[job].phase <= Phase::running;
  }
  [[nodiscard]] const JobRecord& record(JobId job) const noexcept { return records_[job]; }
  [[nodiscard]] JobHistory history(JobId job) const noexcept { return records_.history(job); }
  /// Whether the job lost its GPUs at this very instant.
  [[nodiscard]] bool has_just_stopped(JobId job) const noexcept {
    return records_.history(job).idle_since == now_;
  }
  [[nodiscard]] const Slot& slot(JobId job) const noexcept { return slots_[records_[job].slot]; }

  /// True work left in ticks of service.
  [[nodiscard]] Time true_remaining(JobId job) const noexcept {
    if (has_progress()) return Time{remaining_ticks(job)};
    const JobRecord& record = records_[job];
    if (is_running(job)) {
      const Slot& run = slots_[record.slot];
      return std::min(run.work_end - now_, run.work_end - run.start - run.cost);
    }
    const JobHistory past = records_.history(job);
    return jobs_.service(job) + past.redo - (past.held - past.paid);
  }
  /// The submission or, of a job that is requeued at the back, the last outage that ended its run.
  [[nodiscard]] Time queue_time(JobId job) const noexcept {
    return jobs_.has_requeues_back() ? Time{queued_us_[job]} : jobs_.submit(job);
  }
  /// How often jobs had been requeued by then. With the JobId it gives the order of submission: jobs
  /// that came between two such instants, or with the first, have higher ids than those requeued.
  [[nodiscard]] std::size_t queue_number(JobId job) const noexcept {
    if (requeues_.empty()) return 0;
    const auto after = std::upper_bound(requeues_.begin(), requeues_.end(), queue_time(job));
    return static_cast<std::size_t>(after - requeues_.begin());
  }
  /// Time with GPUs so far, restart costs left out.
  [[nodiscard]] Time attained(JobId job) const noexcept {
    const JobHistory past = records_.history(job);
    const Time all = past.held - past.paid;
    if (!is_running(job)) return all;
    const Slot& run = slots_[records_[job].slot];
    return all - std::min(run.end() - now_, run.end() - run.start - run.cost);
  }
  /// Service and the work that preemptions added, in ticks of service.
  [[nodiscard]] double work(JobId job) const noexcept {
    return static_cast<double>((jobs_.service(job) + records_.history(job).redo).count());
  }
  /// Progress rate of a job on this many GPUs of one type, on as few servers as possible: above 1
  /// if faster than its own width on the best type, 0 if it cannot or may not run so.
  [[nodiscard]] double rate(JobId job, int type, int gpus) const;
  /// The widths that a job may run at.
  [[nodiscard]] int min_gpus(JobId job) const noexcept {
    return speed_->is_elastic() ? jobs_.min_gpus(job) : jobs_.gpus(job);
  }
  [[nodiscard]] int max_gpus(JobId job) const noexcept {
    return speed_->is_elastic() ? jobs_.max_gpus(job) : jobs_.gpus(job);
  }
  /// Whether speeds depend on allocations, so that each slot has a pace.
  [[nodiscard]] bool has_progress() const noexcept { return !progress_.empty(); }
  /// The remaining work by the prediction, for orders; at least one tick.
  [[nodiscard]] Time remaining(JobId job) const noexcept {
    const Time error = jobs_.predicted(job) - jobs_.service(job);
    return std::max(kTick, true_remaining(job) + error);
  }
  [[nodiscard]] Request request(JobId job) const noexcept {
    return {job,
            jobs_.gpus(job),
            jobs_.types(job) & cluster().all_types(),
            records_[job].preemptions,
            jobs_.demand(job),
            jobs_.gpus_per_node(job)};
  }

 protected:
  /// `pooled`, `has_shapes`: see Occupancy; `has_lengths`: see JobClasses.
  State(const JobTable& jobs, const Cluster& cluster, const Speed& speed, bool pooled,
        bool has_shapes, bool has_lengths = false)
      : jobs_(jobs),
        speed_(speed),
        classes_(std::make_shared<const JobClasses>(jobs, cluster, has_lengths)),
        occupancy_(cluster, pooled, jobs.has_demands() && !pooled, has_shapes && !pooled),
        num_up_(cluster.num_gpus()),
        records_(jobs.num_jobs()),
        progress_(speed.is_fixed() ? 0 : jobs.num_jobs()),
        run_id_(next_run_id()) {
    if (jobs.has_requeues_back()) {
      queued_us_.assign(jobs.columns().submit_us.begin(), jobs.columns().submit_us.end());
    }
    if (pooled) {
      up_.assign(1, num_up_);
    } else {
      for (int type = 0; type < cluster.num_types(); ++type) {
        up_.push_back(cluster.gpus_of(TypeMask{1} << type));
      }
    }
  }
  /// Another run, which has come as far.
  State(const State& other)
      : jobs_(other.jobs_),
        speed_(other.speed_),
        classes_(other.classes_),
        occupancy_(other.occupancy_),
        up_(other.up_),
        num_up_(other.num_up_),
        queued_us_(other.queued_us_),
        requeues_(other.requeues_),
        records_(other.records_, other.num_arrived_, other.jobs_.num_jobs()),
        progress_(other.progress_),
        slots_(other.slots_),
        paces_(other.paces_),
        free_slots_(other.free_slots_),
        now_(other.now_),
        num_arrived_(other.num_arrived_),
        num_running_(other.num_running_),
        run_id_(next_run_id()) {}
  ~State() = default;

  const JobTable& jobs_;
  Ref<const Speed> speed_;
  std::shared_ptr<const JobClasses> classes_;  // shared by copies
  Occupancy occupancy_;
  std::vector<std::int64_t> up_;
  std::int64_t num_up_;
  std::vector<std::int64_t> queued_us_;  // queue times; empty if no job is requeued at the back
  std::vector<Time> requeues_;           // the instants at which jobs were, ascending
  JobRecords records_;
  std::vector<JobProgress> progress_;
  std::vector<Slot> slots_;
  std::vector<Pace> paces_;  // of each slot
  std::vector<std::uint32_t> free_slots_;
  Time now_{0};
  JobId num_arrived_ = 0;
  std::size_t num_running_ = 0;
  std::uint64_t run_id_;

 private:
  [[nodiscard]] std::int64_t remaining_ticks(JobId job) const noexcept;

  static std::uint64_t next_run_id() noexcept {
    static std::atomic<std::uint64_t> next{1};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
};

}  // namespace gpusched
