#pragma once

/// Marks a function whose unsigned arithmetic is modulo 2^n on purpose (hashes, random numbers).
/// Elsewhere a sanitized core reports an overflow as an error.
#if defined(__clang__)
#define GPUSCHED_WRAPS_AROUND __attribute__((no_sanitize("unsigned-integer-overflow")))
#else
#define GPUSCHED_WRAPS_AROUND
#endif
