#include "market/weights.hpp"

#include <algorithm>

namespace gpusched {
namespace {

// Weights are scaled so that the market's figures are neither tiny nor huge.
constexpr double kScale = 1e4;
// Times the seconds of any job, from a tick to centuries, weights stay within the market's range:
// with a high focus on the jobs with the least remaining time, the others hardly count.
constexpr double kLeastWeight = 1e-24;
constexpr double kGreatestWeight = 1e18;

}  // namespace

void weigh(const MatchingJobs& jobs, std::span<const MatchingJobs::Row> chosen, int focus,
           bool keeps_widths, std::vector<double>& weight) {
  weight.assign(chosen.size(), 1.0);
  if (focus == 0) return;
  const auto power = [&](double base) {
    double value = 1.0;
    for (int factor = 0; factor < focus; ++factor) value *= base;
    return value;
  };
  const auto count = static_cast<double>(keeps_widths ? jobs.size() : chosen.size());
  for (std::size_t row = 0; row < chosen.size(); ++row) {
    const double place = count - static_cast<double>(row);
    const double share = power(place / count) - power((place - 1.0) / count);
    const MatchingJobs::Job& job = jobs.at(chosen[row]);
    const double gpus = keeps_widths ? job.least : 1.0;
    weight[row] =
        std::clamp(kScale * share * share * gpus / job.gpu_time(), kLeastWeight, kGreatestWeight);
  }
}

}  // namespace gpusched
