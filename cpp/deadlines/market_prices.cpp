#include "deadlines/market_prices.hpp"

#include <algorithm>
#include <cmath>

namespace gpusched {

// Powers of two and their fractions: exact on every machine.

std::size_t MarketPrice::bucket_of(double density) noexcept {
  int exponent = 0;
  const double mantissa = std::frexp(density, &exponent);  // in [1/2, 1)
  const auto part = static_cast<int>((mantissa - 0.5) * 2.0 * kPerOctave);
  const int bucket = (exponent + kOctaves / 2) * kPerOctave + std::min(part, kPerOctave - 1);
  return static_cast<std::size_t>(std::clamp(bucket, 0, kPerOctave * kOctaves - 1));
}

double MarketPrice::lower_edge(std::size_t bucket) noexcept {
  const int whole = static_cast<int>(bucket);
  const double mantissa = 0.5 + static_cast<double>(whole % kPerOctave) / (2.0 * kPerOctave);
  return std::ldexp(mantissa, whole / kPerOctave - kOctaves / 2);
}

void MarketPrice::see(std::int64_t slot, double density, double gpu_slots) {
  if (demand_.empty()) {
    demand_.assign(std::size_t{kPerOctave} * kOctaves, 0.0);
    last_ = slot;
  }
  double factor = 1.0;
  for (; last_ < slot; ++last_) {
    factor *= decay_;
    slots_ = slots_ * decay_ + 1.0;
    if (factor < 1e-30) {  // nothing is left, and the slots have reached their sum
      last_ = slot;
      factor = 0.0;
      break;
    }
  }
  if (factor != 1.0) {
    for (double& demand : demand_) demand *= factor;
  }
  const std::size_t bucket = bucket_of(density);
  demand_[bucket] += gpu_slots;
  end_ = std::max(end_, bucket + 1);
}

double MarketPrice::clearing(double gpus) const {
  double sum = 0.0;
  for (std::size_t bucket = end_; bucket > 0;) {
    --bucket;
    sum += demand_[bucket];
    if (sum > gpus * slots_) return lower_edge(bucket);
  }
  return 0.0;
}

}  // namespace gpusched
