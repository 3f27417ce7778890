#include "solvers/program_rows.hpp"

#include <cstddef>
#include <cstring>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {
namespace {

// Inlined into functions that are compiled for different processors, each with its SIMD width.

constexpr int kWide = 4;

template <class Lanes>
constexpr int kFew = static_cast<int>(kNumLanes<Lanes>);

/// Keeps this many quanta in registers while it examines all ways.
template <class Lanes, int kCount>
[[gnu::always_inline]] inline void relax_block(double* out, const double* init,
                                               std::span<const RowTransition> ways,
                                               int begin) noexcept {
  Lanes best[kCount];
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    if (init == nullptr) {
      best[i] = Lanes{} + kInfinity;
    } else {
      std::memcpy(&best[i], init + begin + i * kFew<Lanes>, sizeof(Lanes));
    }
  }
  for (const RowTransition& way : ways) {
#pragma GCC unroll 4
    for (int i = 0; i < kCount; ++i) {
      Lanes own;
      std::memcpy(&own, way.after + begin + i * kFew<Lanes>, sizeof(Lanes));
      own += way.cost;
      best[i] = own < best[i] ? own : best[i];
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kCount; ++i) {
    std::memcpy(out + begin + i * kFew<Lanes>, &best[i], sizeof(Lanes));
  }
}

[[gnu::always_inline]] inline void relax_one(double* out, const double* init,
                                             std::span<const RowTransition> ways,
                                             int left) noexcept {
  double best = init == nullptr ? kInfinity : init[left];
  for (const RowTransition& way : ways) {
    const double own = way.cost + way.after[left];
    best = own < best ? own : best;
  }
  out[left] = best;
}

template <class Lanes>
[[gnu::always_inline]] inline void relax_row(double* out, const double* init,
                                             std::span<const RowTransition> ways, int first,
                                             int last) noexcept {
  constexpr int kMany = kWide * kFew<Lanes>;
  int left = first;
  for (; left + kMany <= last + 1; left += kMany) relax_block<Lanes, kWide>(out, init, ways, left);
  if (left > last) return;
  // Once more for some of them, which changes nothing, is faster than few at a time.
  if (last + 1 - first >= kMany) {
    relax_block<Lanes, kWide>(out, init, ways, last + 1 - kMany);
    return;
  }
  for (; left + kFew<Lanes> <= last + 1; left += kFew<Lanes>)
    relax_block<Lanes, 1>(out, init, ways, left);
  for (; left <= last; ++left) relax_one(out, init, ways, left);
}

}  // namespace

void relax(double* out, const double* init, std::span<const RowTransition> ways, int first,
           int last) noexcept {
  run_in_lanes([=]<class Lanes>() __attribute__((always_inline)) {
    relax_row<Lanes>(out, init, ways, first, last);
  });
}

}  // namespace gpusched
