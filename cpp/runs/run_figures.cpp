#include "runs/run_figures.hpp"

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

void check(const RunColumns& columns) {
  const std::size_t size = columns.submit_us.size();
  const auto fits = [&](auto column) { return column.size() == size; };
  const auto fits_or_empty = [&](auto column) { return column.empty() || fits(column); };
  if (!fits(columns.service_us) || !fits(columns.gpus) || !fits(columns.start_us) ||
      !fits(columns.finish_us) || !fits(columns.held_us) || !fits(columns.preemptions) ||
      !fits(columns.resizes) || !fits(columns.num_servers) || !fits(columns.status) ||
      !fits_or_empty(columns.share_milli) || !fits_or_empty(columns.weight)) {
    throw std::invalid_argument("all columns must have one length");
  }
}

/// Sorts no more than the percentiles ask for.
Percentiles percentiles_of(std::vector<std::int64_t>& values) {
  Percentiles found;
  auto begin = values.begin();
  for (std::size_t i = 0; i < found.values.size() && !values.empty(); ++i) {
    const auto percent = static_cast<std::size_t>(Percentiles::kPercents[i]);
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

}  // namespace

RunFigures figures_of(const RunColumns& columns, std::int64_t short_service_us) {
  check(columns);
  RunFigures figures;
  std::vector<std::int64_t> flows;
  std::vector<std::int64_t> waits;
  flows.reserve(columns.submit_us.size());
  waits.reserve(columns.submit_us.size());
  Sum log_jct;
  Sum slowdown;
  Sum area_jct;
  Sum area;
  Sum weighted_jct;
  Sum weights;
  for (std::size_t job = 0; job < columns.submit_us.size(); ++job) {
    const std::int64_t submit = columns.submit_us[job];
    const std::int64_t service = columns.service_us[job];
    const std::int64_t held = columns.held_us[job];
    const std::int64_t share =
        columns.share_milli.empty() ? std::int64_t{kWholeGpu} : columns.share_milli[job];
    const Int128 width = Int128{columns.gpus[job]} * share;
    figures.held_gpu_milli_us += width * held;
    figures.num_preemptions += columns.preemptions[job];
    figures.num_resizes += columns.resizes[job];
    switch (columns.status[job]) {
      case static_cast<std::uint8_t>(Status::rejected):
        ++figures.num_rejected;
        continue;
      case static_cast<std::uint8_t>(Status::unfinished):
        ++figures.num_unfinished;
        figures.accepted_gpu_milli_us += width * service;
        continue;
      case static_cast<std::uint8_t>(Status::finished):
        break;
      default:
        throw std::invalid_argument("status: there is no such one");
    }
    if (figures.num_finished++ == 0) {
      figures.first_submit_us = submit;
      figures.last_finish_us = columns.finish_us[job];
    }
    figures.last_finish_us = std::max(figures.last_finish_us, columns.finish_us[job]);
    const std::int64_t flow = columns.finish_us[job] - submit;
    figures.flow_us += flow;
    figures.wait_us += flow - held;
    figures.delay_us += columns.start_us[job] - submit;
    figures.since_first_us += submit - figures.first_submit_us;
    flows.push_back(flow);
    waits.push_back(flow - held);
    figures.num_servers += columns.num_servers[job];
    figures.accepted_gpu_milli_us += width * service;
    figures.useful_gpu_milli_us += width * service;

    const double jct = static_cast<double>(flow) / kUsPerSecond;
    const double length = static_cast<double>(std::max(service, short_service_us)) / kUsPerSecond;
    const double job_area =
        static_cast<double>(columns.gpus[job]) * (static_cast<double>(service) / kUsPerSecond);
    const double weight = columns.weight.empty() ? 1.0 : columns.weight[job];
    log_jct.add(std::log(jct));
    slowdown.add(std::max(1.0, jct / length));
    area_jct.add(jct * job_area);
    area.add(job_area);
    weighted_jct.add(jct * weight);
    weights.add(weight);
  }
  figures.flow = percentiles_of(flows);
  figures.wait = percentiles_of(waits);
  figures.log_jct = log_jct.value();
  figures.bounded_slowdown = slowdown.value();
  figures.area_jct = area_jct.value();
  figures.area = area.value();
  figures.weighted_jct = weighted_jct.value();
  figures.weight = weights.value();
  return figures;
}

}  // namespace gpusched
