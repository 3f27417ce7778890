#include "runs/cluster_series.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <string>

#include "base/check.hpp"
#include "base/time.hpp"
#include "engine/schedule.hpp"
#include "runs/time_order.hpp"

namespace gpusched {
namespace {

template <class Column>
void check_length(const char* name, const Column& column, std::size_t size) {
  if (column.size() != size) {
    fail_input(std::string(name) + ": must have " + std::to_string(size) + " values, not " +
               std::to_string(column.size()));
  }
}

void check(const SeriesJobs& jobs, const SeriesRows& rows) {
  const std::size_t num_jobs = jobs.submit_us.size();
  check_length("gpus", jobs.gpus, num_jobs);
  check_length("finish_us", jobs.finish_us, num_jobs);
  check_length("status", jobs.status, num_jobs);
  check_length("start_us", rows.start_us, rows.job.size());
  check_length("end_us", rows.end_us, rows.job.size());
  check_length("server", rows.server, rows.job.size());
  check_length("mask", rows.mask, rows.job.size());
  if (const auto late = std::ranges::is_sorted_until(jobs.submit_us);
      late != jobs.submit_us.end()) {
    fail_input("submit_us[" + std::to_string(late - jobs.submit_us.begin()) +
               "]: " + std::to_string(*late) + " is before its predecessor");
  }
  for (std::size_t row = 0; row < rows.job.size(); ++row) {
    if (rows.job[row] < 0 || static_cast<std::size_t>(rows.job[row]) >= num_jobs) {
      fail_input("job[" + std::to_string(row) + "]: unknown job " + std::to_string(rows.job[row]) +
                 " of " + std::to_string(num_jobs));
    }
  }
}

/// The GPUs of a job in one interval.
struct Holding {
  std::int32_t held;
  std::int32_t asked;
  bool goes_back;  // to the queue, at least for an instant: the job is not done
};

/// Intervals; a multi-server job has several rows per interval.
struct Holdings {
  std::vector<Holding> of;
  std::vector<std::int64_t> start_us;
  std::vector<std::int64_t> end_us;
};

Holdings holdings_of(const SeriesJobs& jobs, const SeriesRows& rows) {
  Holdings found;
  found.of.reserve(rows.job.size());
  found.start_us.reserve(rows.job.size());
  found.end_us.reserve(rows.job.size());
  for (std::size_t row = 0; row < rows.job.size(); ++row) {
    const auto job = static_cast<std::size_t>(rows.job[row]);
    const bool is_next = row == 0 || rows.job[row] != rows.job[row - 1] ||
                         rows.start_us[row] != rows.start_us[row - 1];
    if (is_next) {
      found.of.push_back({0, jobs.gpus[job], rows.end_us[row] != jobs.finish_us[job]});
      found.start_us.push_back(rows.start_us[row]);
      found.end_us.push_back(rows.end_us[row]);
    }
    found.of.back().held += rows.server[row] < 0 ? jobs.gpus[job] : std::popcount(rows.mask[row]);
  }
  return found;
}

/// Running totals.
struct Totals {
  std::int64_t allocated_gpus = 0;
  std::int64_t queue_jobs = 0;
  std::int64_t queue_gpus = 0;
  std::int64_t running_jobs = 0;

  void wait(std::int64_t gpus, std::int64_t sign) {
    queue_jobs += sign;
    queue_gpus += sign * gpus;
  }
  void hold(std::int64_t gpus, std::int64_t sign) {
    running_jobs += sign;
    allocated_gpus += sign * gpus;
  }
};

}  // namespace

ClusterSeries cluster_series(const SeriesJobs& jobs, const SeriesRows& rows) {
  check(jobs, rows);
  const Holdings holdings = holdings_of(jobs, rows);
  const std::vector<std::uint32_t> starts = time_order(holdings.start_us);
  const std::vector<std::uint32_t> ends = time_order(holdings.end_us);
  const std::size_t num_jobs = jobs.submit_us.size();
  std::size_t job = 0, start = 0, end = 0;
  const auto skip_rejected = [&] {
    while (job < num_jobs && static_cast<Status>(jobs.status[job]) == Status::rejected) ++job;
  };
  ClusterSeries found;
  for (std::vector<std::int64_t>* column :
       {&found.time_us, &found.allocated_gpus, &found.queue_jobs, &found.queue_gpus,
        &found.running_jobs}) {
    column->reserve(num_jobs + starts.size() + ends.size());  // unwritten pages take no memory
  }
  Totals totals;
  for (skip_rejected();;) {
    const std::int64_t came_us = job < num_jobs ? jobs.submit_us[job] : kNever.count();
    const std::int64_t starts_us =
        start < starts.size() ? holdings.start_us[starts[start]] : kNever.count();
    const std::int64_t ends_us = end < ends.size() ? holdings.end_us[ends[end]] : kNever.count();
    const std::int64_t now_us = std::min({came_us, starts_us, ends_us});
    if (now_us == kNever.count()) return found;
    for (; job < num_jobs && jobs.submit_us[job] == now_us; skip_rejected()) {
      totals.wait(jobs.gpus[job++], 1);
    }
    for (; start < starts.size() && holdings.start_us[starts[start]] == now_us; ++start) {
      const Holding& holding = holdings.of[starts[start]];
      totals.wait(holding.asked, -1);
      totals.hold(holding.held, 1);
    }
    for (; end < ends.size() && holdings.end_us[ends[end]] == now_us; ++end) {
      const Holding& holding = holdings.of[ends[end]];
      totals.hold(holding.held, -1);
      if (holding.goes_back) totals.wait(holding.asked, 1);
    }
    found.time_us.push_back(now_us);
    found.allocated_gpus.push_back(totals.allocated_gpus);
    found.queue_jobs.push_back(totals.queue_jobs);
    found.queue_gpus.push_back(totals.queue_gpus);
    found.running_jobs.push_back(totals.running_jobs);
  }
}

}  // namespace gpusched
