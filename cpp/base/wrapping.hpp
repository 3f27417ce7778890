#pragma once

/// Marks a function whose unsigned arithmetic is modulo 2^n on purpose, as that of hashes and
/// random numbers is. Everywhere else a sanitized core takes an overflow for a fault.
#if defined(__clang__)
#define GPUSCHED_WRAPS_AROUND __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define GPUSCHED_WRAPS_AROUND
#endif
