#pragma once

#include <chrono>
#include <cstdint>

namespace gpusched {

/// An instant since the trace's first submit, or a duration: integer microseconds.
using Time = std::chrono::duration<std::int64_t, std::micro>;

inline constexpr Time kTick{1};
inline constexpr Time kNever = Time::max();
inline constexpr std::int64_t kTicksPerSecond = 1'000'000;

/// Services up to here are exact in a double.
inline constexpr std::int64_t kMaxServiceTicks = std::int64_t{1} << 53;

/// Exclusive upper bound of every instant of a run, and of the last submit plus all services. Half
/// of the type's range: an instant plus the rest of a run never overflows.
inline constexpr std::int64_t kMaxTicks = std::int64_t{1} << 62;

/// The first multiple of `period` strictly after `now`.
constexpr Time next_multiple(Time now, Time period) noexcept {
  return Time{(now.count() / period.count() + 1) * period.count()};
}

/// Rounded up: the one place where a fraction of a tick becomes a tick. What no tick can hold is
/// kMaxTicks, which no run may reach.
constexpr std::int64_t ceil_ticks(double ticks) noexcept {
  if (!(ticks < static_cast<double>(kMaxTicks))) return kMaxTicks;
  const auto whole = static_cast<std::int64_t>(ticks);  // towards zero
  return whole + (static_cast<double>(whole) < ticks ? 1 : 0);
}

/// The lowest integer that is at least the quotient.
constexpr std::int64_t ceil_div(std::int64_t numerator, std::int64_t denominator) noexcept {
  return (numerator + denominator - 1) / denominator;
}

}  // namespace gpusched
