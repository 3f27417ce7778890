#pragma once

namespace gpusched {

/// Doubles that a processor takes at once: all of them two, and some more where a function is
/// compiled for those.
using TwoLanes [[gnu::vector_size(2 * sizeof(double))]] = double;
using FourLanes [[gnu::vector_size(4 * sizeof(double))]] = double;

#if defined(__x86_64__)
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2") > 0;
#endif

}  // namespace gpusched
