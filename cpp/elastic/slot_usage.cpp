#include "elastic/slot_usage.hpp"

#include <algorithm>

namespace gpusched {
namespace {

/// Slots that are looked at together, by the compiler's leave.
constexpr std::size_t kAtOnce = 32;

}  // namespace

void add_taken(std::vector<Taken>& taken, std::int64_t first, std::span<const Taken> more) {
  if (more.empty()) return;
  const auto begin = static_cast<std::size_t>(first);
  if (taken.size() < begin + more.size()) taken.resize(begin + more.size());
  for (std::size_t i = 0; i < more.size(); ++i) taken[begin + i] += more[i];
}

std::int64_t slots_within(std::span<const Taken> taken, std::int64_t begin, std::int64_t most,
                          Taken low, Taken high) noexcept {
  if (most <= 0) return 0;
  // Negative outside.
  const auto margin = [&](Taken known) { return (known - low) | (high - known); };
  const std::size_t first = std::min(taken.size(), static_cast<std::size_t>(begin));
  const std::size_t size = std::min(taken.size() - first, static_cast<std::size_t>(most));
  const Taken* const looked_at = taken.data() + first;
  std::size_t next = 0;
  for (; next + kAtOnce <= size; next += kAtOnce) {
    Taken all = 0;
    for (std::size_t i = 0; i < kAtOnce; ++i) all |= margin(looked_at[next + i]);
    if (all < 0) break;
  }
  while (next < size && margin(looked_at[next]) >= 0) ++next;
  if (next < size || margin(0) < 0) return static_cast<std::int64_t>(std::min(next, size));
  return most;
}

bool keeps_plans(const TakenAround& around, std::int64_t first,
                 std::span<const Taken> shift) noexcept {
  const int may_be_more = around.is_monotone ? 0 : 1;
  // Without branches, so that the compiler looks at several slots together.
  const auto is_changed = [&](Taken more, Taken before, Taken after) {
    const Taken most = after + std::max(0, more);
    const Taken least = before + std::min(0, more);
    const int is_touched = more != 0;
    const int is_scarce = most > around.all - around.most;  // not all fits that did
    const int is_there = least <= around.all - around.least;  // something does
    const int is_other = (most > around.all) | (more < 0);  // a fit or a misfit changes
    return is_touched & is_scarce & is_there & (is_other | may_be_more);
  };
  const auto begin = static_cast<std::size_t>(first);
  const std::size_t size = std::min(around.before.size(), around.after.size());
  const std::size_t known = std::min(shift.size(), size - std::min(size, begin));
  int is_any_changed = 0;
  for (std::size_t i = 0, end = 0; i < known && is_any_changed == 0; i = end) {
    end = std::min(known, i + kAtOnce);
    for (std::size_t j = i; j < end; ++j) {
      is_any_changed |= is_changed(shift[j], around.before[begin + j], around.after[begin + j]);
    }
  }
  for (std::size_t i = known; i < shift.size() && is_any_changed == 0; ++i) {
    is_any_changed =
        is_changed(shift[i], taken_at(around.before, begin + i), taken_at(around.after, begin + i));
  }
  return is_any_changed == 0;
}

}  // namespace gpusched
