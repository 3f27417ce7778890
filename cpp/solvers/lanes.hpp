#pragma once

#include <atomic>

namespace gpusched {

/// Doubles that a processor takes at once: all of them two, and some more where a function is
/// compiled for those.
using TwoLanes [[gnu::vector_size(2 * sizeof(double))]] = double;
using FourLanes [[gnu::vector_size(4 * sizeof(double))]] = double;

[[nodiscard]] inline bool has_four_lanes() noexcept {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") > 0;
#else
  return false;
#endif
}

/// Whether loops that are compiled for four take them. Tests alone change it, to compare with two.
inline std::atomic<bool> takes_four_lanes{has_four_lanes()};

}  // namespace gpusched
