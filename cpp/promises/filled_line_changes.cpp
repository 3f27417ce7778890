#include <algorithm>

#include "promises/filled_line.hpp"

namespace gpusched {
namespace {

/// Of the sum of what is done in all slots of a plan, at the most.
constexpr double kWalkRounding = 1e-9;

}  // namespace

/// Whether all entries of the block keep their plans.
bool FilledLine::is_unchanged(std::size_t index) const {
  const Block& block = blocks_[index];
  if (block.entries.empty()) return true;
  if (block.entries.back().outcome != Outcome::planned) return false;
  const TakenAround around{
      .before = block.before,
      .after = index + 1 < blocks_.size() ? blocks_[index + 1].before : all_,
      .all = static_cast<Taken>(num_gpus_),
      .least = block.least,
      .most = block.most,
      .is_monotone = block.is_monotone,
  };
  return keeps_plans(around, shift_.begin(), shift_.before(block.slots));
}

/// The same of one entry to which the filling has come.
bool FilledLine::is_unchanged(const Entry& entry) const {
  if (entry.is_free_to_change()) return chooses_as_planned(entry);
  if (shift_.num_freed() == 0 && entry.is_monotone()) return fits_as_planned(entry);
  const std::int64_t size = entry.plan.size();
  const std::int64_t until =
      std::min(shift_.end(),
               entry.shortfall > 0 ? filling_.slots_until(entry.member.claim->deadline) : size);
  std::int64_t begin = 0;
  const auto is_kept = [&](std::int64_t end, int gpus) {
    for (std::int64_t slot = std::max(begin, shift_.begin()); slot < std::min(end, until); ++slot) {
      if (!is_unchanged_at(entry, gpus, slot)) return false;
    }
    begin = end;
    return true;
  };
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    if (!is_kept(known.end, known.gpus)) return false;
  }
  return is_kept(until, 0);
}

/// Whether the widest width that is free is what it has, and shares that failed find no more.
bool FilledLine::chooses_as_planned(const Entry& entry) const {
  const auto widths = entry.member.claim->widths.first(entry.share + 1);
  std::int64_t begin = shift_.begin();
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    const std::int64_t end = std::min(known.end, shift_.end());
    if (end <= begin) continue;
    auto chosen = static_cast<int>(entry.share);
    while (chosen >= 0 && widths[static_cast<std::size_t>(chosen)].gpus != known.gpus) --chosen;
    if (filling_.alike(begin, end - begin, widths, chosen) < end - begin) return false;
    begin = end;
  }
  return entry.shortfall == 0 || gained(*entry.member.claim, entry.num_failed(), begin) == 0;
}

/// Whether what it has is still free. So it is where nothing more is taken.
bool FilledLine::fits_as_planned(const Entry& entry) const {
  std::int64_t begin = shift_.begin();
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    const std::int64_t end = std::min(known.end, shift_.end());
    for (; begin < end; ++begin) {
      if (filling_.free_at(static_cast<std::size_t>(begin)) < known.gpus) return false;
    }
  }
  return true;
}

bool FilledLine::is_unchanged_at(const Entry& entry, int gpus, std::int64_t slot) const {
  const std::int64_t shift = shift_.at(slot);
  if (shift == 0) return true;
  const std::int64_t now = filling_.free_at(static_cast<std::size_t>(slot));
  if (shift > 0 && entry.is_monotone()) return gpus <= now;
  const Claim& claim = *entry.member.claim;
  const auto fits_alike = [&](int width) { return (width <= now) == (width <= now + shift); };
  const auto widths = claim.widths.first(entry.share + 1);
  return fits_alike(claim.width) &&
         std::all_of(widths.begin(), widths.end(),
                     [&](const WidthRate& width) { return fits_alike(width.gpus); });
}

/// Plans an entry anew that had another plan before the shift. Shares that failed are not tried
/// again where all the GPUs that come free do not make up for what they left undone.
void FilledLine::refill(const Entry& before, Entry& entry) {
  const Claim& claim = *entry.member.claim;
  double left = before.shortfall;
  if (left > 0) {
    if (!before.is_free_to_change()) return fill(claim, entry);
    left -= gained(claim, before.num_failed(), shift_.begin());
    // Rounding, and what narrower shares have less in reserve.
    const double rate = claim.widths[before.num_failed() - 1].rate;
    const double error = kWalkRounding * claim.work + 2 * std::max(1.0, rate);
    if (left <= error) return fill(claim, entry);
  }
  fill(claim, entry, before.num_failed());
  if (entry.shortfall == 0) entry.shortfall = left;
}

/// Service that the shift adds at most from a slot on, where the widest of the first so many widths
/// that is free is taken.
double FilledLine::gained(const Claim& claim, std::size_t num_widths, std::int64_t begin) const {
  if (shift_.num_freed() == 0) return 0;
  const auto widths = claim.widths.first(num_widths);
  const auto rate = [&](std::int64_t free) {
    double best = 0;
    for (const WidthRate& known : widths) {
      if (known.gpus > free) break;
      best = known.rate;
    }
    return best;
  };
  double rates = 0;
  const std::int64_t end = std::min(shift_.end(), filling_.slots_until(claim.deadline));
  for (std::int64_t slot = begin; slot < end;) {
    slot += shift_.none_freed(slot, end - slot);
    for (; slot < end && shift_.at(slot) < 0; ++slot) {
      const std::int64_t now = filling_.free_at(static_cast<std::size_t>(slot));
      rates += rate(now) - rate(now + shift_.at(slot));
    }
  }
  return rates * static_cast<double>(slot_ticks_);
}

}  // namespace gpusched
