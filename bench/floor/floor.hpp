#pragma once

#include <cstdint>
#include <span>

namespace bench_floor {

/// The columns of a trace, borrowed. Sorted by submit; a job's index is its identity and
/// breaks every tie. At most 2^32 - 1 jobs; service at least one tick; gpus at least one.
struct Trace {
  std::span<const std::int64_t> submit_us;
  std::span<const std::int64_t> service_us;
  std::span<const std::int32_t> gpus;
};

/// What the loop counted on its way.
struct Counts {
  std::int64_t max_waiting = 0;  ///< most jobs that waited after a decision
  std::int64_t preemptions = 0;
};

/// Each function schedules `trace` on one pool of `num_gpus` GPUs and writes the finish time
/// of every job, -1 for a job wider than the pool. All events of an instant are applied
/// (finishes, then arrivals), then one decision is taken. A waiting job that does not fit is
/// skipped. Where `start_us` is not empty the first starts are written there as well.

/// Submit order, not preemptive.
Counts fifo(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
            std::span<std::int64_t> start_us);

/// Shortest service first, not preemptive.
Counts sjf(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
           std::span<std::int64_t> start_us);

/// Shortest remaining service first, preemptive and without restart cost: in key order a job
/// is taken if its gang fits the GPUs that the jobs before it leave.
Counts srtf(const Trace& trace, std::int64_t num_gpus, std::span<std::int64_t> finish_us,
            std::span<std::int64_t> start_us);

}  // namespace bench_floor
