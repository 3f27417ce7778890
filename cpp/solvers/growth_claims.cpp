#include "solvers/growth_claims.hpp"

#include <bit>

#include "solvers/lanes.hpp"

namespace gpusched {

#if defined(__x86_64__)

[[gnu::target("avx2")]] void GrowthClaims::pass_by_four(GrowthClaim so_far, std::size_t at,
                                                        std::size_t end,
                                                        std::vector<std::uint32_t>& chain) const {
  constexpr std::size_t kLanes = sizeof(FourLanes) / sizeof(double);
  FourLanes length = FourLanes{} + so_far.length;
  FourLanes more_so_far = FourLanes{} + so_far.of_more;
  FourLanes less_so_far = FourLanes{} + so_far.of_less;
  while (at < end) {
    unsigned found = 0;
#pragma GCC unroll 2
    for (std::size_t i = 0; i < kAtOnce; i += kLanes) {
      FourLanes each;
      FourLanes of_more;
      FourLanes of_less;
      std::memcpy(&each, length_.data() + at + i, sizeof each);
      std::memcpy(&of_more, of_more_.data() + at + i, sizeof of_more);
      std::memcpy(&of_less, of_less_.data() + at + i, sizeof of_less);
      const auto passes = length >= each ? more_so_far <= of_less : of_more > less_so_far;
      FourLanes signs;
      std::memcpy(&signs, &passes, sizeof signs);
      found |= static_cast<unsigned>(__builtin_ia32_movmskpd256(signs)) << i;
    }
    if (found == 0) {
      at += kAtOnce;
      continue;
    }
    at += static_cast<std::size_t>(std::countr_zero(found));
    if (at >= end) return;
    chain.push_back(static_cast<std::uint32_t>(at));
    length = FourLanes{} + length_[at];
    more_so_far = FourLanes{} + of_more_[at];
    less_so_far = FourLanes{} + of_less_[at];
    ++at;
  }
}

#endif

void GrowthClaims::pass(GrowthClaim so_far, std::size_t at, std::size_t end,
                        std::vector<std::uint32_t>& chain) const {
#if defined(__x86_64__)
  if (takes_four_lanes) return pass_by_four(so_far, at, end, chain);
#endif
  for (; at < end; ++at) {
    const GrowthClaim claim = (*this)[at];
    if (!claim.passes(so_far)) continue;
    chain.push_back(static_cast<std::uint32_t>(at));
    so_far = claim;
  }
}

}  // namespace gpusched
