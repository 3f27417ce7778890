#pragma once

#include <cstdint>
#include <span>

#include "solvers/squashed_machine.hpp"

namespace gpusched {

/// Lower bounds on the last completion less the first submit, whatever the schedule: each is an
/// exact integer. Jobs are sorted by submit; all columns have one length, and no job a negative
/// time. std::invalid_argument otherwise. 0 of no jobs.

/// A submit and the job's own service: microseconds.
[[nodiscard]] Uint128 longest_job(std::span<const std::int64_t> submit_us,
                                  std::span<const std::int64_t> service_us);

/// A submit and all work submitted from then on, on all GPUs: ticks of 1 / num_gpus microseconds.
[[nodiscard]] Uint128 total_work(std::span<const std::int64_t> submit_us,
                                 std::span<const std::int64_t> service_us,
                                 std::span<const std::int32_t> gpus, std::int64_t num_gpus);

/// The largest submit plus all services, one after the other, of jobs submitted from then on with
/// more than half of the GPUs: microseconds.
[[nodiscard]] Uint128 wide_gangs(std::span<const std::int64_t> submit_us,
                                 std::span<const std::int64_t> service_us,
                                 std::span<const std::int32_t> gpus, std::int64_t num_gpus);

}  // namespace gpusched
