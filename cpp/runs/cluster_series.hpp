#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// The cluster over time as step functions that share their steps: what holds from an instant on.
struct ClusterSeries {
  std::vector<std::int64_t> time_us;
  std::vector<std::int64_t> allocated_gpus;
  std::vector<std::int64_t> queue_jobs;
  std::vector<std::int64_t> queue_gpus;
  std::vector<std::int64_t> running_jobs;
};

/// The jobs of a run, in the order of their submissions, and how they ended.
struct SeriesJobs {
  std::span<const std::int64_t> submit_us;
  std::span<const std::int32_t> gpus;
  std::span<const std::int64_t> finish_us;
  std::span<const std::uint8_t> status;
};

/// The rows of an interval log, sorted by job and start: one per interval and server; server -1 and
/// no mask if the job held all its GPUs in a pool.
struct SeriesRows {
  std::span<const std::int64_t> job;
  std::span<const std::int64_t> start_us;
  std::span<const std::int64_t> end_us;
  std::span<const std::int64_t> server;
  std::span<const std::uint64_t> mask;
};

/// Counts what happens at each instant and adds up. A job waits whenever it has been submitted, is
/// not done and holds no GPUs; one that was rejected never waits. std::invalid_argument where columns
/// differ in length, submissions descend or a row names no job.
[[nodiscard]] ClusterSeries cluster_series(const SeriesJobs& jobs, const SeriesRows& rows);

}  // namespace gpusched
