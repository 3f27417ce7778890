#pragma once

#include <array>
#include <cstdint>

namespace gpusched {

/// A logistic function in whole per cent: 100 / (1 + exp(-x / unit)) rounded down, 0 to 99, of
/// integers. Its steps are taken from a series, so they are the same on every machine.
class LogisticSteps {
 public:
  LogisticSteps() = default;
  explicit LogisticSteps(std::int64_t unit) {
    for (std::size_t step = 0; step < least_.size(); ++step) {
      least_[step] = logit(static_cast<int>(step) + 1) * static_cast<double>(unit);
    }
  }

  [[nodiscard]] std::int64_t operator()(std::int64_t x) const noexcept {
    std::int64_t percent = 0;
    for (std::size_t half = 64; half > 0; half /= 2) {
      const auto next = static_cast<std::size_t>(percent) + half;
      if (next <= least_.size() && static_cast<double>(x) >= least_[next - 1]) {
        percent = static_cast<std::int64_t>(next);
      }
    }
    return percent;
  }

 private:
  /// ln(percent / (100 - percent)) = 2 artanh(percent / 50 - 1).
  static double logit(int percent) noexcept {
    const double z = static_cast<double>(percent - 50) / 50;
    double sum = 0;
    double power = z;
    for (int odd = 1;; odd += 2) {
      const double next = sum + power / odd;
      if (next == sum) return 2 * sum;
      sum = next;
      power *= z * z;
    }
  }

  std::array<double, 99> least_{};  // of x, for 1 to 99 per cent
};

}  // namespace gpusched
