#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gpusched {

/// The recent value of a GPU slot to the last job that could have been served if the highest bids
/// per GPU slot had been served first. Each slot counts `decay` of the next.
class MarketPrice {
 public:
  explicit MarketPrice(double decay) : decay_(decay) {}

  /// Adds a job in `slot`, no earlier than the last, that needs `gpu_slots` and pays `density` for
  /// each.
  void see(std::int64_t slot, double density, double gpu_slots);
  /// The price at which supply meets demand with this many GPUs per slot; 0 if all are served.
  [[nodiscard]] double clearing(double gpus) const;

 private:
  static constexpr int kPerOctave = 8;
  static constexpr int kOctaves = 128;

  [[nodiscard]] static std::size_t bucket_of(double density) noexcept;
  [[nodiscard]] static double lower_edge(std::size_t bucket) noexcept;

  double decay_;
  std::vector<double> demand_;  // GPU slots by what is paid for each
  std::size_t end_ = 0;         // no demand has been here or above
  double slots_ = 1.0;          // that were seen; the first counts once more
  std::int64_t last_ = -1;
};

}  // namespace gpusched
