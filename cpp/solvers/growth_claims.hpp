#pragma once

#include "base/infinity.hpp"

namespace gpusched {

/// A job's gain from one more GPU.
struct GrowthClaim {
  double length;   ///< its time left with what it has, in ticks
  double of_more;  ///< gain in rate over the rate with one GPU more
  double of_less;  ///< gain in rate over the present rate

  /// Whether it beats the leader so far.
  [[nodiscard]] bool passes(const GrowthClaim& so_far) const noexcept {
    return so_far.length >= length ? so_far.of_more <= of_less : of_more > so_far.of_less;
  }
};

/// Every claim passes this one.
inline constexpr GrowthClaim kNoRival{kInfinity, 0.0, 0.0};
/// It passes no other claim.
inline constexpr GrowthClaim kNoClaim{kInfinity, -1.0, -1.0};

/// Jobs without GPUs have no throughput: among them the shortest leads.
inline constexpr GrowthClaim kOfNewcomer{kInfinity, 1.0, kInfinity};

}  // namespace gpusched
