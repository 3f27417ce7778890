#include "solvers/batch_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

template <class Samples>
bool is_limited(std::span<const Samples> max_samples, std::size_t worker) noexcept {
  return !max_samples.empty() && max_samples[worker] > 0;
}

/// Relative to a sum of samples: a remainder below this is zero.
constexpr double kRestRounding = 1e-12;

/// A power of two with which products and sums of the rates neither overflow nor round otherwise.
double scale_of(std::span<const double> rates) noexcept {
  double greatest = 0.0;
  for (const double rate : rates) greatest = std::max(greatest, rate);
  int exponent = 0;
  (void)std::frexp(greatest, &exponent);
  // The exponent for the lowest numbers exceeds that of a double.
  return std::ldexp(1.0, std::min(-exponent, 1000));
}

/// Divides by weight and again what did not fit. A worker that is full once stays so: the others'
/// parts only grow.
template <class Weight, class Limit>
bool fill_water(double global_batch, std::size_t num_workers, Weight weight, Limit limit,
                std::span<double> out) {
  std::fill(out.begin(), out.end(), -1.0);  // not full yet
  double rest = global_batch;
  const double nothing = global_batch * kRestRounding;
  for (;;) {
    double total = 0.0;
    for (std::size_t k = 0; k < num_workers; ++k) {
      if (out[k] < 0.0) total += weight(k);
    }
    if (!(total > 0.0)) break;
    double taken = 0.0;
    bool is_overfull = false;
    for (std::size_t k = 0; k < num_workers; ++k) {
      const double most = limit(k);
      if (out[k] < 0.0 && rest * weight(k) / total >= most) {
        out[k] = most;
        taken += most;
        is_overfull = true;
      }
    }
    if (!is_overfull) {
      for (std::size_t k = 0; k < num_workers; ++k) {
        if (out[k] < 0.0) out[k] = rest * weight(k) / total;
      }
      return true;
    }
    rest -= taken;
    if (rest <= nothing) break;  // full to the last sample
  }
  for (double& samples : out) samples = std::max(samples, 0.0);
  return rest <= nothing;
}

template <class Samples>
double limit_of(std::span<const Samples> max_samples, std::size_t worker) noexcept {
  return is_limited(max_samples, worker) ? static_cast<double>(max_samples[worker]) : kInfinity;
}

template <class Samples>
double slowest(std::span<const Samples> samples, std::span<const double> rates) noexcept {
  double last = 0.0;
  for (std::size_t k = 0; k < samples.size(); ++k) {
    if (samples[k] > 0) last = std::max(last, static_cast<double>(samples[k]) / rates[k]);
  }
  return last;
}

}  // namespace

bool split_proportionally(double global_batch, std::span<const double> rates,
                          std::span<const double> max_samples, std::span<double> out) {
  const double scale = scale_of(rates);
  return fill_water(
      global_batch, rates.size(), [&](std::size_t k) { return rates[k] * scale; },
      [&](std::size_t k) { return limit_of(max_samples, k); }, out);
}

bool split_proportionally(std::int64_t global_batch, std::span<const double> rates,
                          std::span<const std::int64_t> max_samples, std::span<std::int64_t> out) {
  const std::size_t num_workers = rates.size();
  const auto has_room = [&](std::size_t k) {
    return rates[k] > 0.0 && (!is_limited(max_samples, k) || out[k] < max_samples[k]);
  };
  const double scale = scale_of(rates);
  std::int64_t rest = global_batch;
  std::fill(out.begin(), out.end(), std::int64_t{0});
  // Rounds down repeatedly: while whole samples are left over, workers with room take their
  // proportional parts.
  for (bool is_done = false; !is_done && rest > 0;) {
    is_done = true;
    double total = 0.0;
    for (std::size_t k = 0; k < num_workers; ++k) {
      if (has_room(k)) total += rates[k] * scale;
    }
    if (!(total > 0.0)) return false;
    // Of all samples that these workers hold, or will hold.
    double all = static_cast<double>(rest);
    for (std::size_t k = 0; k < num_workers; ++k) {
      if (has_room(k)) all += static_cast<double>(out[k]);
    }
    for (std::size_t k = 0; k < num_workers; ++k) {
      if (!has_room(k)) continue;
      auto wanted = static_cast<std::int64_t>(std::floor(all * (rates[k] * scale) / total));
      if (is_limited(max_samples, k) && wanted >= max_samples[k]) {
        wanted = max_samples[k];
        is_done = false;  // it is full: the others' parts grow
      }
      wanted = std::min(wanted, out[k] + rest);
      if (wanted > out[k]) {
        rest -= wanted - out[k];
        out[k] = wanted;
      }
    }
  }
  for (; rest > 0; --rest) {
    std::size_t first = num_workers;
    double sooner = 0.0;
    for (std::size_t k = 0; k < num_workers; ++k) {
      if (!has_room(k)) continue;
      const double end = static_cast<double>(out[k] + 1) / rates[k];
      if (first == num_workers || end < sooner) {
        first = k;
        sooner = end;
      }
    }
    if (first == num_workers) return false;
    ++out[first];
  }
  return true;
}

bool split_equally(double global_batch, std::span<const double> max_samples,
                   std::span<double> out) {
  return fill_water(
      global_batch, out.size(), [](std::size_t) { return 1.0; },
      [&](std::size_t k) { return limit_of(max_samples, k); }, out);
}

bool split_equally(std::int64_t global_batch, std::span<const std::int64_t> max_samples,
                   std::span<std::int64_t> out) {
  std::fill(out.begin(), out.end(), std::int64_t{0});
  std::int64_t rest = global_batch;
  while (rest > 0) {
    std::int64_t open = 0;
    for (std::size_t k = 0; k < out.size(); ++k) {
      open += !is_limited(max_samples, k) || out[k] < max_samples[k];
    }
    if (open == 0) return false;
    // Full rounds first; the last few samples go to the first workers that have room.
    const std::int64_t each = std::max<std::int64_t>(rest / open, 1);
    for (std::size_t k = 0; k < out.size(); ++k) {
      const bool is_full = is_limited(max_samples, k) && out[k] >= max_samples[k];
      if (is_full || rest == 0) continue;
      std::int64_t given = each;
      if (is_limited(max_samples, k)) given = std::min(given, max_samples[k] - out[k]);
      out[k] += given;
      rest -= given;
    }
  }
  return true;
}

double slowest_worker_s(std::span<const double> samples, std::span<const double> rates) noexcept {
  return slowest(samples, rates);
}

double slowest_worker_s(std::span<const std::int64_t> samples,
                        std::span<const double> rates) noexcept {
  return slowest(samples, rates);
}

}  // namespace gpusched
