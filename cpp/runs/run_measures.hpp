#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/schedule.hpp"

namespace gpusched {

__extension__ typedef __int128 Int128;

/// Job columns for measures, one value per job. `share_milli` and `weight` may be empty: whole
/// GPUs, weight 1; so may `tenant`, a number below `num_tenants`.
struct JudgedJobs {
  std::span<const std::int64_t> submit_us;
  std::span<const std::int64_t> service_us;
  std::span<const std::int32_t> gpus;
  std::span<const std::int32_t> share_milli;
  std::span<const double> weight;
  std::span<const std::int32_t> tenant;
  std::size_t num_tenants = 0;
};

/// Outcome columns of a schedule that was read, or of a part of one: one value per job.
struct OutcomeColumns {
  std::span<const std::int64_t> start_us;
  std::span<const std::int64_t> finish_us;
  std::span<const std::int64_t> held_us;
  std::span<const std::int32_t> preemptions;
  std::span<const std::int32_t> resizes;
  std::span<const std::int32_t> num_servers;
  std::span<const std::uint8_t> status;
};

/// Nearest-rank percentiles, and the largest value; 0 of no values.
template <class Value>
struct Percentiles {
  static constexpr std::array<int, 5> kPercents{50, 90, 95, 99, 100};
  std::array<Value, kPercents.size()> values{};
};

/// Sums over the finished jobs, unless stated otherwise. Integers are exact; doubles are summed
/// with a compensation term, so that they are accurate to the last digits in any order. Widths
/// count shares of GPUs as such.
struct RunMeasures {
  std::int64_t num_finished = 0;
  std::int64_t num_rejected = 0;
  std::int64_t num_unfinished = 0;  ///< not rejected, and not all their work done
  std::int64_t num_cancelled = 0;   ///< of those
  /// The first submit and the last finish of those that finished.
  std::int64_t first_submit_us = 0;
  std::int64_t last_finish_us = 0;
  /// Finish - submit; the part of it without GPUs; start - submit; submit - first_submit_us.
  Int128 flow_us = 0;
  Int128 wait_us = 0;
  Int128 delay_us = 0;
  Int128 since_first_us = 0;
  Percentiles<std::int64_t> flow;
  Percentiles<std::int64_t> wait;
  std::int64_t num_servers = 0;
  /// Of all jobs.
  std::int64_t num_preemptions = 0;
  std::int64_t num_resizes = 0;
  /// Width x time with GPUs of all jobs, in thousandths.
  Int128 held_gpu_milli_us = 0;
  /// Width x service: of those that finished, of all that were not rejected.
  Int128 useful_gpu_milli_us = 0;
  Int128 accepted_gpu_milli_us = 0;
  /// ln of the JCT in seconds.
  double log_jct = 0.0;
  /// JCT over service, with shorter services counted as `short_service_us`; at least 1 each.
  double bounded_slowdown = 0.0;
  Percentiles<double> bounded_slowdowns;
  /// Jain's index of the tenants' mean bounded slowdowns, and how many tenants have a job; 0 and 0
  /// without tenants.
  double tenant_fairness = 0.0;
  std::int64_t num_tenants = 0;
  /// gpus x service x JCT and gpus x service, weight x JCT and weight: seconds. Here a share is a
  /// whole GPU.
  double area_jct = 0.0;
  double area = 0.0;
  double weighted_jct = 0.0;
  double weight = 0.0;
};

/// One pass over the columns, and three partial sorts. std::invalid_argument where their lengths
/// differ, or a status or a tenant is unknown.
[[nodiscard]] RunMeasures measures_of(const JudgedJobs& jobs, const OutcomeColumns& outcome,
                                      std::int64_t short_service_us);

/// The same for a schedule.
[[nodiscard]] RunMeasures measures_of(const JudgedJobs& jobs, const Schedule& schedule,
                                      std::int64_t short_service_us);

}  // namespace gpusched
