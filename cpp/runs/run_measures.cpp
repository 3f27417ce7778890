#include "runs/run_measures.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <vector>

#include "engine/schedule.hpp"

namespace gpusched {
namespace {

constexpr double kUsPerSecond = 1e6;

/// Adds up with twice the precision (Neumaier 1974).
class Sum {
 public:
  void add(double value) noexcept {
    const double sum = sum_ + value;
    const bool is_less = std::abs(value) <= std::abs(sum_);
    rest_ += is_less ? (sum_ - sum) + value : (value - sum) + sum_;
    sum_ = sum;
  }
  [[nodiscard]] double value() const noexcept { return sum_ + rest_; }

 private:
  double sum_ = 0.0;
  double rest_ = 0.0;
};

/// The outcome of one job.
struct Outcome {
  std::int64_t start_us;
  std::int64_t finish_us;
  std::int64_t held_us;
  std::int32_t preemptions;
  std::int32_t resizes;
  std::int32_t num_servers;
  Status status;
};

template <class... Columns>
void check_length(std::size_t size, const Columns&... columns) {
  if (((columns.size() != size) || ...)) {
    throw std::invalid_argument("all columns must have the same length");
  }
}

void check(const JudgedJobs& jobs, std::size_t size) {
  check_length(size, jobs.submit_us, jobs.service_us, jobs.gpus);
  if (!jobs.share_milli.empty()) check_length(size, jobs.share_milli);
  if (!jobs.weight.empty()) check_length(size, jobs.weight);
  if (!jobs.tenant.empty()) check_length(size, jobs.tenant);
}

/// The mean of each tenant, and how even these are.
class Tenants {
 public:
  explicit Tenants(std::size_t num_tenants) : means_(num_tenants) {}

  void add(std::int32_t tenant, double value) {
    if (tenant < 0 || static_cast<std::size_t>(tenant) >= means_.size()) {
      throw std::invalid_argument("tenant: unknown tenant");
    }
    Mean& mean = means_[static_cast<std::size_t>(tenant)];
    mean.sum.add(value);
    ++mean.count;
  }

  [[nodiscard]] std::int64_t count() const noexcept {
    return std::count_if(means_.begin(), means_.end(),
                         [](const Mean& mean) { return mean.count > 0; });
  }

  /// Jain's index: (sum x)^2 / (n sum x^2), 1 where all are equal; 0 of none.
  [[nodiscard]] double fairness() const noexcept {
    Sum sum;
    Sum squares;
    for (const Mean& mean : means_) {
      if (mean.count == 0) continue;
      const double value = mean.sum.value() / static_cast<double>(mean.count);
      sum.add(value);
      squares.add(value * value);
    }
    const double total = sum.value();
    return count() == 0 ? 0.0 : total * total / (static_cast<double>(count()) * squares.value());
  }

 private:
  struct Mean {
    Sum sum;
    std::int64_t count = 0;
  };
  std::vector<Mean> means_;
};

/// Sorts no more than the percentiles ask for.
template <class Value>
Percentiles<Value> percentiles_of(std::vector<Value>& values) {
  Percentiles<Value> found;
  auto begin = values.begin();
  for (std::size_t i = 0; i < found.values.size() && !values.empty(); ++i) {
    const auto percent = static_cast<std::size_t>(Percentiles<Value>::kPercents[i]);
    const std::size_t rank = std::max<std::size_t>(1, (percent * values.size() + 99) / 100) - 1;
    const auto place = values.begin() + static_cast<std::ptrdiff_t>(rank);
    if (place >= begin) {
      std::nth_element(begin, place, values.end());
      begin = place;
    }
    found.values[i] = *place;
  }
  return found;
}

template <class OutcomeOf>
RunMeasures summed(const JudgedJobs& jobs, std::int64_t short_service_us, OutcomeOf outcome_of) {
  RunMeasures measures;
  std::vector<std::int64_t> flows;
  std::vector<std::int64_t> waits;
  flows.reserve(jobs.submit_us.size());
  waits.reserve(jobs.submit_us.size());
  std::vector<double> slowdowns;
  slowdowns.reserve(jobs.submit_us.size());
  Tenants tenants(jobs.num_tenants);
  Sum log_jct;
  Sum slowdown;
  Sum area_jct;
  Sum area;
  Sum weighted_jct;
  Sum weights;
  for (std::size_t job = 0; job < jobs.submit_us.size(); ++job) {
    const Outcome outcome = outcome_of(job);
    const std::int64_t submit = jobs.submit_us[job];
    const std::int64_t service = jobs.service_us[job];
    const std::int64_t share =
        jobs.share_milli.empty() ? std::int64_t{kWholeGpu} : jobs.share_milli[job];
    const Int128 width = Int128{jobs.gpus[job]} * share;
    measures.held_gpu_milli_us += width * outcome.held_us;
    measures.num_preemptions += outcome.preemptions;
    measures.num_resizes += outcome.resizes;
    switch (outcome.status) {
      case Status::rejected:
        ++measures.num_rejected;
        continue;
      case Status::cancelled:
        ++measures.num_cancelled;
        [[fallthrough]];
      case Status::unfinished:
      case Status::killed:
      case Status::failed:
        ++measures.num_unfinished;
        measures.accepted_gpu_milli_us += width * service;
        continue;
      case Status::finished:
        break;
      default:
        throw std::invalid_argument("status: unknown status");
    }
    if (measures.num_finished++ == 0) {
      measures.first_submit_us = submit;
      measures.last_finish_us = outcome.finish_us;
    }
    measures.last_finish_us = std::max(measures.last_finish_us, outcome.finish_us);
    const std::int64_t flow = outcome.finish_us - submit;
    measures.flow_us += flow;
    measures.wait_us += flow - outcome.held_us;
    measures.delay_us += outcome.start_us - submit;
    measures.since_first_us += submit - measures.first_submit_us;
    flows.push_back(flow);
    waits.push_back(flow - outcome.held_us);
    measures.num_servers += outcome.num_servers;
    measures.accepted_gpu_milli_us += width * service;
    measures.useful_gpu_milli_us += width * service;

    const double jct = static_cast<double>(flow) / kUsPerSecond;
    const double length = static_cast<double>(std::max(service, short_service_us)) / kUsPerSecond;
    const double job_area =
        static_cast<double>(jobs.gpus[job]) * (static_cast<double>(service) / kUsPerSecond);
    const double weight = jobs.weight.empty() ? 1.0 : jobs.weight[job];
    log_jct.add(std::log(jct));
    slowdowns.push_back(std::max(1.0, jct / length));
    slowdown.add(slowdowns.back());
    if (!jobs.tenant.empty()) tenants.add(jobs.tenant[job], slowdowns.back());
    area_jct.add(jct * job_area);
    area.add(job_area);
    weighted_jct.add(jct * weight);
    weights.add(weight);
  }
  measures.flow = percentiles_of(flows);
  measures.wait = percentiles_of(waits);
  measures.log_jct = log_jct.value();
  measures.bounded_slowdown = slowdown.value();
  measures.bounded_slowdowns = percentiles_of(slowdowns);
  measures.tenant_fairness = tenants.fairness();
  measures.num_tenants = tenants.count();
  measures.area_jct = area_jct.value();
  measures.area = area.value();
  measures.weighted_jct = weighted_jct.value();
  measures.weight = weights.value();
  return measures;
}

}  // namespace

RunMeasures measures_of(const JudgedJobs& jobs, const OutcomeColumns& outcome,
                        std::int64_t short_service_us) {
  check(jobs, outcome.status.size());
  check_length(outcome.status.size(), outcome.start_us, outcome.finish_us, outcome.held_us,
               outcome.preemptions, outcome.resizes, outcome.num_servers);
  return summed(jobs, short_service_us, [&](std::size_t job) {
    return Outcome{.start_us = outcome.start_us[job],
                   .finish_us = outcome.finish_us[job],
                   .held_us = outcome.held_us[job],
                   .preemptions = outcome.preemptions[job],
                   .resizes = outcome.resizes[job],
                   .num_servers = outcome.num_servers[job],
                   .status = static_cast<Status>(outcome.status[job])};
  });
}

RunMeasures measures_of(const JudgedJobs& jobs, const Schedule& schedule,
                        std::int64_t short_service_us) {
  check(jobs, schedule.num_jobs());
  return summed(jobs, short_service_us, [&](std::size_t at) {
    const auto job = static_cast<JobId>(at);
    const JobRecord& record = schedule.record(job);
    return Outcome{.start_us = record.start.count(),
                   .finish_us = record.finish.count(),
                   .held_us = schedule.history(job).held.count(),
                   .preemptions = record.preemptions,
                   .resizes = schedule.num_resizes(job),
                   .num_servers = record.num_servers,
                   .status = schedule.status(job)};
  });
}

}  // namespace gpusched
