#pragma once

#include <cstdint>

#include "base/wrapping.hpp"

namespace gpusched {

/// Random streams. Draws depend on (seed, stream, job, counter), never on the order of calls.
enum class Stream : std::uint64_t {
  order = 1,
  placement = 2,
  servers = 3,  ///< an order of the servers
  category = 16,         ///< any category of a matching market
  category_nearby = 17,  ///< one around another
};

namespace detail {
inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

/// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
GPUSCHED_WRAPS_AROUND constexpr std::uint64_t mix(std::uint64_t x) noexcept {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ULL;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return x;
}
}  // namespace detail

/// 64 random bits of the counter-based generator.
GPUSCHED_WRAPS_AROUND constexpr std::uint64_t draw(std::uint64_t seed, Stream stream,
                                                   std::uint64_t job,
                                                   std::uint64_t counter) noexcept {
  using detail::kGolden;
  using detail::mix;
  std::uint64_t x = mix(seed + kGolden);
  x = mix(x + static_cast<std::uint64_t>(stream) * kGolden + kGolden);
  x = mix(x + job * kGolden + kGolden);
  return mix(x + counter * kGolden + kGolden);
}

/// Uniform in [0, 1) with 53 bits.
constexpr double to_unit(std::uint64_t bits) noexcept {
  return static_cast<double>(bits >> 11) * 0x1.0p-53;
}

/// Uniform in [0, bound).
constexpr std::uint64_t to_below(std::uint64_t bits, std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(bits) * bound) >> 64);
}

}  // namespace gpusched
