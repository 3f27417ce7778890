#pragma once

#include <algorithm>

#include "base/infinity.hpp"
#include "base/time.hpp"

namespace gpusched {

/// What the ratios of some waiting jobs stay below while nobody joins them. The ratio of a job is
/// that of the time since its arrival and the time it has left, over its time alone: it grows by one
/// over its time alone, and the greatest by no more than the fastest of all.
class RatioBound {
 public:
  template <class Entry>
  void add(const Entry& /*entry*/) noexcept {
    is_known_ = false;
  }
  /// All of them are told anew, as they are now.
  void begin(Time now) noexcept {
    *this = {};
    is_known_ = true;
    from_ = now;
  }
  void tell(double ratio, double alone, int gpus) noexcept {
    ratio_ = std::max(ratio_, ratio);
    growth_ = std::max(growth_, 1.0 / alone);
    per_gpu_ = std::max(per_gpu_, ratio / gpus);
    growth_per_gpu_ = std::max(growth_per_gpu_, 1.0 / (alone * gpus));
  }

  [[nodiscard]] double ratio(Time now) const noexcept { return at(now, ratio_, growth_); }
  /// Over the job's GPUs.
  [[nodiscard]] double per_gpu(Time now) const noexcept {
    return at(now, per_gpu_, growth_per_gpu_);
  }

 private:
  [[nodiscard]] double at(Time now, double then, double growth) const noexcept {
    constexpr double kRounding = 1.0 + 1e-9;
    if (!is_known_) return kInfinity;
    return kRounding * (then + growth * static_cast<double>((now - from_).count()));
  }

  bool is_known_ = false;
  Time from_{0};
  double ratio_ = 0;
  double growth_ = 0;
  double per_gpu_ = 0;
  double growth_per_gpu_ = 0;
};

}  // namespace gpusched
