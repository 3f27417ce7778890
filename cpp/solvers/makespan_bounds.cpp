#include "solvers/makespan_bounds.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>

namespace gpusched {
namespace {

void check(std::span<const std::int64_t> submit_us, std::span<const std::int64_t> service_us) {
  if (service_us.size() != submit_us.size()) {
    throw std::invalid_argument("submit_us and service_us must have one length");
  }
  for (std::size_t job = 0; job < submit_us.size(); ++job) {
    if (service_us[job] < 0) throw std::invalid_argument("service_us must not be negative");
    if (submit_us[job] < (job == 0 ? 0 : submit_us[job - 1])) {
      throw std::invalid_argument("submit_us must be sorted and not negative");
    }
  }
}

void check(std::span<const std::int64_t> submit_us, std::span<const std::int64_t> service_us,
           std::span<const std::int32_t> gpus, std::int64_t num_gpus) {
  check(submit_us, service_us);
  if (gpus.size() != submit_us.size()) {
    throw std::invalid_argument("submit_us and gpus must have one length");
  }
  if (num_gpus < 1) throw std::invalid_argument("num_gpus must be at least 1");
  for (const std::int32_t width : gpus) {
    if (width < 0) throw std::invalid_argument("gpus must not be negative");
  }
}

/// The largest release + all later work; both in one unit, `scale` per microsecond.
template <class Work>
Uint128 largest_backlog(std::span<const std::int64_t> submit_us, std::int64_t scale, Work work) {
  Uint128 most = 0;
  Uint128 from_here_on = 0;
  for (std::size_t left = submit_us.size(); left > 0; --left) {
    const std::size_t job = left - 1;
    from_here_on += work(job);
    const auto since_us = static_cast<Uint128>(submit_us[job] - submit_us[0]);
    most = std::max(most, since_us * static_cast<Uint128>(scale) + from_here_on);
  }
  return most;
}

}  // namespace

Uint128 longest_job(std::span<const std::int64_t> submit_us,
                    std::span<const std::int64_t> service_us) {
  check(submit_us, service_us);
  Uint128 most = 0;
  for (std::size_t job = 0; job < submit_us.size(); ++job) {
    const auto since_us = static_cast<Uint128>(submit_us[job] - submit_us[0]);
    most = std::max(most, since_us + static_cast<Uint128>(service_us[job]));
  }
  return most;
}

Uint128 total_work(std::span<const std::int64_t> submit_us,
                   std::span<const std::int64_t> service_us, std::span<const std::int32_t> gpus,
                   std::int64_t num_gpus) {
  check(submit_us, service_us, gpus, num_gpus);
  return largest_backlog(submit_us, num_gpus, [&](std::size_t job) {
    return static_cast<Uint128>(service_us[job]) * static_cast<Uint128>(gpus[job]);
  });
}

Uint128 wide_gangs(std::span<const std::int64_t> submit_us,
                   std::span<const std::int64_t> service_us, std::span<const std::int32_t> gpus,
                   std::int64_t num_gpus) {
  check(submit_us, service_us, gpus, num_gpus);
  return largest_backlog(submit_us, 1, [&](std::size_t job) {
    const bool is_wide = 2 * std::int64_t{gpus[job]} > num_gpus;
    return is_wide ? static_cast<Uint128>(service_us[job]) : Uint128{0};
  });
}

}  // namespace gpusched
