#pragma once

#include <atomic>
#include <cstddef>
#include <cstring>

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

template <class Lanes>
constexpr std::size_t kNumLanes = sizeof(Lanes) / sizeof(double);

/// Must be inlined into functions that are compiled for different processors.
template <class Lanes>
[[gnu::always_inline]] inline void take(Lanes& lanes, const double* from) noexcept {
  std::memcpy(&lanes, from, sizeof(Lanes));
}

template <class Lanes>
[[gnu::always_inline]] inline void put(double* to, const Lanes& lanes) noexcept {
  std::memcpy(to, &lanes, sizeof(Lanes));
}

#if defined(__x86_64__)

template <class Kernel>
[[gnu::target("avx2")]] auto run_by_avx2(const Kernel& kernel) noexcept {
  return kernel.template operator()<FourLanes>();
}

#endif

/// Runs a loop that is written for any number of lanes, which must be inlined: the same bits by two
/// or four. Four take a third of the time of `assign` where it reads whole rows (128 x 128), and save
/// a quarter of dancer's; elsewhere little.
template <class Kernel>
auto run_in_lanes(const Kernel& kernel) noexcept {
#if defined(__x86_64__)
  if (takes_four_lanes) return run_by_avx2(kernel);
#endif
  return kernel.template operator()<TwoLanes>();
}

}  // namespace gpusched
