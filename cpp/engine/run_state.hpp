#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "seams/state.hpp"

namespace gpusched {

/// The engine's writable state of a run: time, arrived jobs, and allocations.
class RunState final : public State {
 public:
  RunState(const JobTable& jobs, const Cluster& cluster, const Speed& speed, bool pooled,
           bool has_shapes, bool has_lengths = false)
      : State(jobs, cluster, speed, pooled, has_shapes, has_lengths) {}

  void move_to(Time now) noexcept { now_ = now; }

  /// The next job of the table has come, and waits.
  JobId arrive() noexcept {
    const JobId job = num_arrived_++;
    records_[job] = unstarted();
    return job;
  }
  /// A job that has come can never run.
  void reject(JobId job, RejectReason reason) noexcept {
    end(job, Phase::rejected);
    records_[job].reason = reason;
  }

  /// A waiting job is not in the queue until it is released.
  void hold(JobId job) noexcept { records_[job].phase = Phase::held; }
  void release(JobId job) noexcept { records_[job].phase = Phase::waiting; }
  /// An outage has ended the run of a job.
  void requeue(JobId job) {
    if (!jobs_.requeues_back(job)) return;
    queued_us_[job] = now_.count();
    if (requeues_.empty() || requeues_.back() < now_) requeues_.push_back(now_);
  }
  /// A waiting or held job will never run, or an ended one never again.
  void end(JobId job, Phase phase) noexcept { records_[job].phase = phase; }
  /// Visits the waiting jobs, in order.
  template <class Visit>
  void for_each_waiting(Visit visit) {
    while (first_live_ < num_arrived_ && records_[first_live_].phase > Phase::running)
      ++first_live_;
    for (JobId job = first_live_; job < num_arrived_; ++job) {
      if (records_[job].phase == Phase::waiting) visit(job);
    }
  }
  [[nodiscard]] bool has_waiting() {
    bool waits = false;
    for_each_waiting([&](JobId) { waits = true; });
    return waits;
  }

  /// Reserves memory for this many running jobs at once.
  void reserve_slots(std::size_t count) { slots_.reserve(count); }
  /// A slot for a job that starts. The caller fills it, its pace and the record.
  [[nodiscard]] std::uint32_t take_slot() {
    if (free_slots_.empty()) {
      free_slots_.push_back(static_cast<std::uint32_t>(slots_.size()));
      slots_.emplace_back();
      if (has_progress()) paces_.resize(slots_.size());
    }
    const std::uint32_t id = free_slots_.back();
    free_slots_.pop_back();
    ++num_running_;
    return id;
  }
  /// The job of the slot runs no more; what is known of it is kept by the caller.
  void give_back_slot(std::uint32_t id) {
    slots_[id].job = kNoJob;
    free_slots_.push_back(id);
    --num_running_;
  }

  [[nodiscard]] JobRecord& record_of(JobId job) noexcept { return records_[job]; }
  /// The history of the job; from now on it is stored.
  [[nodiscard]] JobHistory& history_of(JobId job) noexcept { return records_.keep_history(job); }
  [[nodiscard]] JobProgress& progress_of(JobId job) noexcept { return progress_[job]; }
  [[nodiscard]] const JobProgress& progress_of(JobId job) const noexcept { return progress_[job]; }
  [[nodiscard]] std::span<Slot> all_slots() noexcept { return slots_; }
  [[nodiscard]] Slot& slot_at(std::uint32_t id) noexcept { return slots_[id]; }
  [[nodiscard]] const Slot& slot_at(std::uint32_t id) const noexcept { return slots_[id]; }
  /// Of the job in the slot; only if speeds depend on allocations.
  [[nodiscard]] Pace& pace_at(std::uint32_t id) noexcept { return paces_[id]; }
  [[nodiscard]] const Pace& pace_at(std::uint32_t id) const noexcept { return paces_[id]; }

  /// Acquires the GPUs of the slot, with the CPU and memory of its job.
  void acquire(const Slot& slot) {
    if (occupancy_.may_close()) [[unlikely]]
      count_up(slot.pieces, 1);
    occupancy_.acquire(slot.gpus, slot.pieces, jobs_.demand(slot.job));
  }
  /// From now on no job can have these GPUs, which are free.
  void withhold(std::span<const Piece> pieces) {
    int gpus = 0;
    for (const Piece& piece : pieces) {
      gpus += piece.gpus;
      const int type = occupancy_.is_pooled() ? 0 : cluster().type(piece.server);
      up_[static_cast<std::size_t>(type)] -= piece.gpus;
    }
    num_up_ -= gpus;
    if (occupancy_.is_pooled()) {
      occupancy_.acquire(gpus, {});
    } else if (jobs_.has_demands()) {
      occupancy_.acquire(gpus, pieces, Demand{});
    } else {
      occupancy_.acquire(gpus, pieces);
    }
  }
  void release(const Slot& slot) {
    occupancy_.release(slot.gpus, slot.pieces, jobs_.demand(slot.job));
    if (occupancy_.may_close()) [[unlikely]]
      count_up(slot.pieces, -1);
  }

  /// Call before the run if servers may close.
  void begin_closing() { occupancy_.begin_closing(); }
  /// Nobody can get GPUs of the server from now on, or no longer.
  void close(ServerId server) {
    count_up(server, -occupancy_.free_gpus(server));
    occupancy_.close(server);
    has_changed_capacity_ = true;
  }
  void open(ServerId server) {
    count_up(server, count_bits(occupancy_.down_mask(server)));
    occupancy_.open(server);
    has_changed_capacity_ = true;
  }
  /// Whether servers have closed or opened, or GPUs have gone down, since the last call of the other.
  [[nodiscard]] bool has_changed_capacity() const noexcept { return has_changed_capacity_; }
  void take_capacity_change() noexcept { has_changed_capacity_ = false; }

  /// The run is over: what each job came to, and of those that never came that they did not.
  [[nodiscard]] JobRecords take_records() {
    for (JobId job = num_arrived_; job < jobs_.num_jobs(); ++job) records_[job] = unstarted();
    return std::move(records_);
  }
  /// Ticks that each job's runs would have taken without contention; empty under fixed run times.
  [[nodiscard]] std::vector<double> uncontended_us() const {
    std::vector<double> all;
    all.reserve(progress_.size());
    for (const JobProgress& progress : progress_) all.push_back(progress.uncontended);
    return all;
  }

 private:
  void count_up(ServerId server, int gpus) noexcept {
    if (gpus == 0) return;
    up_[static_cast<std::size_t>(cluster().type(server))] += gpus;
    num_up_ += gpus;
    has_changed_capacity_ = true;
  }
  /// GPUs of closed servers were just released, or are about to be taken back.
  void count_up(std::span<const Piece> pieces, int sign) noexcept {
    for (const Piece& piece : pieces) {
      count_up(piece.server, sign * count_bits(occupancy_.down_mask(piece.server) & piece.mask));
    }
  }

  [[nodiscard]] static JobRecord unstarted() noexcept {
    return {.start = kNever,
            .finish = kNever,
            .preemptions = 0,
            .num_servers = 0,
            .slot = 0,
            .phase = Phase::waiting,
            .reason = RejectReason::none,
            .has_history = false};
  }

  JobId first_live_ = 0;  // all before have ended
  bool has_changed_capacity_ = false;
};

}  // namespace gpusched
