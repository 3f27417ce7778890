#pragma once

#include <cstdint>
#include <span>

namespace gpusched {

/// 128 bits hold every sum below for any trace whose times stay under 2^62 microseconds.
__extension__ typedef unsigned __int128 Uint128;

/// The squashed machine: the whole cluster as one server that does num_gpus GPU-microseconds of
/// work per microsecond, preempts freely and splits jobs at will. No schedule of the cluster beats
/// it, so its results are lower bounds. Time is counted in ticks of 1/num_gpus microseconds, of
/// which a job takes exactly gpus x service: every result is an exact integer.
///
/// Jobs are sorted by submit; all columns have one length. std::invalid_argument otherwise.

/// The minimum total flow time (completion - submit, summed) on the squashed machine, in ticks:
/// shortest remaining processing time first (Schrage 1968).
[[nodiscard]] Uint128 squashed_srpt(std::span<const std::int64_t> submit_us,
                                    std::span<const std::int64_t> service_us,
                                    std::span<const std::int32_t> gpus, std::int64_t num_gpus);

/// Mean busy times under static preemptive priority, least gpus x service / weight first
/// (Goemans 1997). Ties go to the lower index.
struct MeanBusyTime {
  /// Sum of (mean busy time - submit + service / 2) in half ticks, each job rounded down.
  Uint128 half_ticks = 0;
  /// The same sum with every job multiplied by its weight, added in order of completion.
  double weighted_half_ticks = 0.0;
};

/// An empty `weight` counts every job once; `each`, unless it is empty, gets the half ticks of each
/// job. std::overflow_error if a product of one job's work and the horizon needs more than 127 bits.
[[nodiscard]] MeanBusyTime mean_busy_time(std::span<const std::int64_t> submit_us,
                                          std::span<const std::int64_t> service_us,
                                          std::span<const std::int32_t> gpus, std::int64_t num_gpus,
                                          std::span<const double> weight,
                                          std::span<double> each = {});

}  // namespace gpusched
