#pragma once

#include <cstdint>
#include <span>

namespace gpusched {

/// How the samples of a synchronous round are divided among unequal workers. Rates are samples per
/// second, finite and not negative; `max_samples` is what the memory of each worker holds, 0 for
/// any number, and empty where nothing is limited; a worker of rate 0 gets nothing, except in equal
/// parts. A round takes as long as its slowest worker. All answer whether every sample found a
/// place; where not, each worker holds as much as it can.

/// In proportion to the rates: every worker ends at the same instant, so no other division is
/// sooner. What a full worker cannot hold is divided again among the others.
bool split_proportionally(double global_batch, std::span<const double> rates,
                          std::span<const double> max_samples, std::span<double> out);

/// The soonest division in whole samples: the proportional one rounded down, and the rest one by
/// one to the worker that would then end first. Ties go to the lower index.
bool split_proportionally(std::int64_t global_batch, std::span<const double> rates,
                          std::span<const std::int64_t> max_samples, std::span<std::int64_t> out);

/// The same to every worker, whatever its rate: the usual division, for comparison.
bool split_equally(double global_batch, std::span<const double> max_samples, std::span<double> out);

/// The same in whole samples; the first workers have one more.
bool split_equally(std::int64_t global_batch, std::span<const std::int64_t> max_samples,
                   std::span<std::int64_t> out);

/// Seconds until the last worker is done with its samples; infinite if one of rate 0 has any.
double slowest_worker_s(std::span<const double> samples, std::span<const double> rates) noexcept;
double slowest_worker_s(std::span<const std::int64_t> samples,
                        std::span<const double> rates) noexcept;

/// Seconds that a ring of `workers` takes to reduce a gradient over links of `bytes_per_s`.
constexpr double ring_exchange_s(std::int64_t workers, double gradient_bytes,
                                 double bytes_per_s) noexcept {
  if (workers <= 1 || gradient_bytes == 0.0) return 0.0;
  const auto width = static_cast<double>(workers);
  return 2.0 * (width - 1.0) / width * gradient_bytes / bytes_per_s;
}

}  // namespace gpusched
