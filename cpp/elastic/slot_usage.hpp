#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gpusched {

/// GPUs of one type that are taken in a slot: fewer than 2^30.
using Taken = std::int32_t;
/// More than can be taken.
inline constexpr Taken kMostTaken = Taken{1} << 30;

/// Behind the last nothing is taken.
[[nodiscard]] inline Taken taken_at(std::span<const Taken> taken, std::size_t slot) noexcept {
  return slot < taken.size() ? taken[slot] : 0;
}
/// Adds `more`, which begins with slot `first`.
void add_taken(std::vector<Taken>& taken, std::int64_t first, std::span<const Taken> more);
/// Slots from `begin` on, at most `most`, in which at least `low` and at most `high` are taken.
[[nodiscard]] std::int64_t slots_within(std::span<const Taken> taken, std::int64_t begin,
                                        std::int64_t most, Taken low, Taken high) noexcept;

/// Which widths a stretch of plans in a row may ask for, and what the others leave.
struct TakenAround {
  std::span<const Taken> before;  ///< usage before the first of the plans
  std::span<const Taken> after;   ///< and after the last
  Taken all;                      ///< GPUs there are
  int least;                      ///< the narrowest width tried
  int most;                       ///< and the widest
  bool is_monotone;               ///< where less is free and what they have is, plans stay
};
/// Whether the plans stay if so much more is taken before them, from slot `first` on.
[[nodiscard]] bool keeps_plans(const TakenAround& around, std::int64_t first,
                               std::span<const Taken> shift) noexcept;

}  // namespace gpusched
