#include "base/hash_x86.hpp"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

namespace gpusched {
namespace {

bool detect() noexcept {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0) return false;
  const bool has_shuffles = (c & bit_SSSE3) != 0 && (c & bit_SSE4_1) != 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned kSha = 1U << 29;
  return has_shuffles && (b & kSha) != 0;
}

}  // namespace

bool has_sha_instructions() noexcept {
  static const bool has = detect();
  return has;
}

[[gnu::target("sha,sse4.1,ssse3")]] void compress_x86(std::array<std::uint32_t, 8>& state,
                                                      const std::uint32_t* round_constants,
                                                      const unsigned char* blocks,
                                                      std::size_t num_blocks) noexcept {
  const auto load = [](const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
  };
  // Bytes of a block are big-endian words.
  const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  // The instructions want the eight words as (a, b, e, f) and (c, d, g, h).
  const __m128i cdab = _mm_shuffle_epi32(load(state.data()), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(load(state.data() + 4), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);

  for (; num_blocks > 0; --num_blocks, blocks += 64) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4];  // the sixteen latest of the message schedule
    for (int i = 0; i < 4; ++i) words[i] = _mm_shuffle_epi8(load(blocks + 16 * i), swap);
#pragma GCC unroll 16
    for (int i = 0; i < 16; ++i) {
      __m128i& oldest = words[i % 4];
      const __m128i second = words[(i + 1) % 4];
      const __m128i third = words[(i + 2) % 4];
      const __m128i latest = words[(i + 3) % 4];
      const __m128i four = _mm_add_epi32(oldest, load(round_constants + 4 * i));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, four);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(four, 0x0E));
      if (i >= 12) continue;
      const __m128i sum =
          _mm_add_epi32(_mm_sha256msg1_epu32(oldest, second), _mm_alignr_epi8(latest, third, 4));
      oldest = _mm_sha256msg2_epu32(sum, latest);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data()), _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(reinterpret_cast<__m128i*>(state.data() + 4), _mm_alignr_epi8(dchg, feba, 8));
}

}  // namespace gpusched

#else

namespace gpusched {

bool has_sha_instructions() noexcept { return false; }

void compress_x86(std::array<std::uint32_t, 8>&, const std::uint32_t*, const unsigned char*,
                  std::size_t) noexcept {}

}  // namespace gpusched

#endif
