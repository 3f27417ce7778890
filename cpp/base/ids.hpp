#pragma once

#include <cstdint>

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

inline constexpr JobId kNoJob = 0xffffffffU;
inline constexpr ServerId kPool = -1;
inline constexpr int kMaxGpusPerServer = 64;
inline constexpr int kMaxGpuTypes = 64;

}  // namespace gpusched
