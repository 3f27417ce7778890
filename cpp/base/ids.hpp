#pragma once

#include <cstdint>

#include "base/wrapping.hpp"

namespace gpusched {

/// Position of a job after the stable sort by (submit, input row).
using JobId = std::uint32_t;
/// Position of a server in the cluster.
using ServerId = std::int32_t;
/// Position of a job class (a width and a set of allowed GPU types).
using ClassId = std::uint32_t;
/// One bit per GPU type of the cluster.
using TypeMask = std::uint64_t;
/// One bit per GPU of a server.
using GpuMask = std::uint64_t;

/// How many bits of a mask are set. Inline, where std::popcount calls a library: the oldest
/// processors that are supported have no instruction for it.
GPUSCHED_WRAPS_AROUND constexpr int count_bits(std::uint64_t mask) noexcept {
  mask -= mask >> 1 & 0x5555555555555555U;
  mask = (mask & 0x3333333333333333U) + (mask >> 2 & 0x3333333333333333U);
  mask = (mask + (mask >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return static_cast<int>(mask * 0x0101010101010101U >> 56);
}

inline constexpr JobId kNoJob = 0xffffffffU;
inline constexpr ServerId kPool = -1;
inline constexpr int kMaxGpusPerServer = 64;
inline constexpr int kMaxGpuTypes = 64;

}  // namespace gpusched
