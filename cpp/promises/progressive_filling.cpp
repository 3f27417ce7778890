#include "promises/progressive_filling.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace gpusched {
namespace {

/// A job on its way through a plan.
struct Walk {
  const Claim& claim;
  double left;
  double debt;
  int width;
  bool has_run;
  double error = 0;  ///< by how much `left` may differ from what is left slot by slot
  bool is_unclear = false;  ///< whether it did so much that it may have been done a slot earlier

  Walk(const Claim& of, double work)
      : claim(of), left(work), debt(of.debt), width(of.width), has_run(of.has_run) {}

  /// Time without progress at the head of a stretch on so many GPUs.
  [[nodiscard]] double cost(int gpus) const noexcept {
    if (gpus == width) return debt;
    return has_run ? claim.restart : 0.0;
  }

  void run(const WidthRate& on, double ticks) noexcept {
    const double unpaid = cost(on.gpus);
    if (error > 0) error += left * 0x1p-52;
    left -= std::max(0.0, ticks - unpaid) * on.rate;
    debt = std::max(0.0, unpaid - ticks);
    width = on.gpus;
    has_run = true;
  }

  /// As `run` in so many slots one after the other, of which each does so much, nothing being
  /// unpaid.
  void run_on(double done_each, std::int64_t slots) noexcept {
    const auto count = static_cast<double>(slots);
    const double done = count * done_each;
    error += (count + 4) * (left + done) * 0x1p-52;
    left -= done;
  }

  /// The same until the work is done, in at most so many slots; in how many it ran.
  std::int64_t finish_on(double done_each, std::int64_t slots) noexcept {
    if (slots == 0) return 0;
    const double needed = std::ceil(left / done_each);
    if (needed > static_cast<double>(slots)) {
      run_on(done_each, slots);
      return slots;
    }
    const auto ran = static_cast<std::int64_t>(needed);
    const double before = left - (needed - 1) * done_each;
    run_on(done_each, ran);
    is_unclear = before <= error;
    return ran;
  }
  /// Whether the work is done, if that is certain.
  [[nodiscard]] std::optional<bool> is_done() const noexcept {
    if (is_unclear || (error > 0 && std::abs(left) <= error)) return std::nullopt;
    return left <= 0;
  }

  void idle() noexcept {
    width = 0;
    debt = 0;
  }
};

/// The widest entry that is at most `gpus` wide; -1 if there is none.
int widest(std::span<const WidthRate> widths, std::int64_t gpus) noexcept {
  auto i = static_cast<int>(widths.size()) - 1;
  while (i >= 0 && widths[static_cast<std::size_t>(i)].gpus > gpus) --i;
  return i;
}

}  // namespace

void SlotPlan::add_to(std::vector<Taken>& taken) const {
  const auto slots = static_cast<std::size_t>(size());
  if (taken.size() < slots) taken.resize(slots);
  std::int64_t begin = 0;
  for (const Stretch& known : stretches) {
    for (std::int64_t slot = begin; slot < known.end && known.gpus > 0; ++slot) {
      taken[static_cast<std::size_t>(slot)] += known.gpus;
    }
    begin = known.end;
  }
}

void ProgressiveFilling::open(std::int64_t now, std::span<const Taken> used) {
  now_ = now;
  used_.assign(used.begin(), used.end());
}

void ProgressiveFilling::add(const SlotPlan& plan, int sign) {
  const std::int64_t gone = slot() - plan.first;
  const std::int64_t size = plan.size();
  if (size <= gone) return;
  if (used_.size() < static_cast<std::size_t>(size - gone)) {
    used_.resize(static_cast<std::size_t>(size - gone));
  }
  std::int64_t begin = 0;
  for (const SlotPlan::Stretch& known : plan.stretches) {
    const Taken gpus = sign * known.gpus;
    for (std::int64_t i = std::max(begin, gone); i < known.end && gpus != 0; ++i) {
      used_[static_cast<std::size_t>(i - gone)] += gpus;
    }
    begin = known.end;
  }
}

void ProgressiveFilling::add(std::int64_t first, std::span<const Taken> gpus) {
  add_taken(used_, first, gpus);
}

void ProgressiveFilling::block(std::int64_t gpus) {
  if (used_.empty()) used_.resize(1);
  used_.front() += static_cast<Taken>(gpus);
}

bool ProgressiveFilling::fill(const Claim& claim, SlotPlan& plan, std::size_t first) {
  if (!find(claim, plan, first)) return false;
  add(plan);
  return true;
}

bool ProgressiveFilling::find(const Claim& claim, SlotPlan& plan, std::size_t first) {
  is_cut_off_ = false;
  shortfall_ = 0;
  share_ = claim.widths.size() - 1;
  for (std::size_t share = first; share < claim.widths.size(); ++share) {
    const double window = static_cast<double>(claim.deadline - now_);
    if (window * claim.widths[share].rate < claim.work) continue;
    share_ = share;
    if (find_share(claim, share, plan)) return true;
  }
  plan.stretches.clear();
  return false;
}

bool ProgressiveFilling::find_share(const Claim& claim, std::size_t share, SlotPlan& plan) {
  const std::optional<bool> is_found = walk(claim, share, plan, is_slow_);
  return is_found ? *is_found : *walk(claim, share, plan, true);
}

std::optional<bool> ProgressiveFilling::walk(const Claim& claim, std::size_t share, SlotPlan& plan,
                                             bool by_slot) {
  const auto widths = claim.widths.first(share + 1);
  const double rate = widths.back().rate;
  // Remaining work and finishes are rounded up to ticks; a move may cost one restart.
  Walk walk(claim, claim.work * (1 + 1e-9) + 2 * std::max(1.0, rate) + claim.restart * rate);
  plan.first = slot();
  plan.stretches.clear();
  std::int64_t begin = now_;
  for (std::size_t i = 0; begin < claim.deadline && i < kMaxSlots;) {
    const std::int64_t end = (plan.first + static_cast<std::int64_t>(i) + 1) * slot_ticks_;
    const auto ticks = static_cast<double>(std::min(end, claim.deadline) - begin);
    begin = end;
    const std::int64_t free = free_at(i);
    const int chosen = widest(widths, free);
    // Whole slots behind this one in which it would choose the same.
    ++i;
    const std::int64_t left = kMaxSlots - static_cast<std::int64_t>(i);
    const std::int64_t whole = by_slot ? 0 : std::min((claim.deadline - end) / slot_ticks_, left);
    if (chosen < 0) {
      walk.idle();
      const std::int64_t idle = alike(static_cast<std::int64_t>(i), whole, widths, chosen);
      plan.push(0, 1 + idle);
      i += static_cast<std::size_t>(idle);
      begin += idle * slot_ticks_;
      continue;
    }
    const bool is_steady = walk.debt == 0 && end - slot_ticks_ >= now_;
    const int before = walk.width;
    WidthRate on = widths[static_cast<std::size_t>(chosen)];
    if (walk.width != on.gpus && walk.width > 0 && walk.width <= free) {
      // It goes on with what it has where a change would not pay within the slot.
      const int same = widest(widths, walk.width);
      if (same >= 0 && widths[static_cast<std::size_t>(same)].gpus == walk.width) {
        const WidthRate kept = widths[static_cast<std::size_t>(same)];
        const double changed = std::max(0.0, ticks - walk.cost(on.gpus)) * on.rate;
        if (changed <= std::max(0.0, ticks - walk.debt) * kept.rate) on = kept;
      }
    }
    walk.run(on, ticks);
    plan.push(on.gpus, 1);
    const auto is_done = walk.is_done();
    if (!is_done || *is_done) return is_done;
    // It came with what it has and owed nothing: so it goes on.
    if (!is_steady || before != on.gpus || end > claim.deadline) continue;
    const double done_each = static_cast<double>(slot_ticks_) * on.rate;
    const std::int64_t slots = alike(static_cast<std::int64_t>(i), whole, widths, chosen);
    const std::int64_t ran = walk.finish_on(done_each, slots);
    if (ran == 0) continue;
    plan.push(on.gpus, ran);
    const auto is_done_now = walk.is_done();
    if (!is_done_now || *is_done_now) return is_done_now;
    i += static_cast<std::size_t>(ran);
    begin += ran * slot_ticks_;
  }
  is_cut_off_ = is_cut_off_ || begin < claim.deadline;
  shortfall_ = walk.left;
  return false;
}

std::int64_t ProgressiveFilling::alike(std::int64_t begin, std::int64_t most,
                                       std::span<const WidthRate> widths,
                                       int chosen) const noexcept {
  const auto wider = static_cast<std::size_t>(chosen + 1);
  // What may be taken at most, and at least, where it chooses the same.
  const Taken high = chosen < 0 ? kMostTaken : most_beside(widths[wider - 1].gpus);
  const Taken low = wider < widths.size() ? most_beside(widths[wider].gpus) + 1 : -kMostTaken;
  return slots_within(used_, begin, most, low, high);
}

bool ProgressiveFilling::suffices(const Claim& claim, const SlotPlan& plan, double lost) const {
  Walk walk(claim, claim.work);
  std::int64_t begin = now_;
  std::int64_t at = slot();
  if (at < plan.first) {
    walk.idle();
    at = plan.first;
    begin = at * slot_ticks_;
  }
  double unpaid = lost;
  for (const SlotPlan::Stretch& known : plan.stretches) {
    const std::int64_t stop = plan.first + known.end;
    if (stop <= at) continue;
    if (begin >= claim.deadline) return false;
    if (known.gpus == 0) {
      walk.idle();
      at = stop;
      begin = at * slot_ticks_;
      continue;
    }
    const int i = widest(claim.widths, known.gpus);
    if (i < 0) return false;
    const WidthRate& on = claim.widths[static_cast<std::size_t>(i)];
    while (at < stop && begin < claim.deadline) {
      if (unpaid > 0) {
        walk.debt = walk.cost(known.gpus) + unpaid;
        walk.width = known.gpus;
        unpaid = 0;
      }
      const std::int64_t whole = std::min(stop - at, (claim.deadline - begin) / slot_ticks_);
      if (walk.width == on.gpus && walk.debt == 0 && begin == at * slot_ticks_ && whole > 1) {
        walk.run_on(static_cast<double>(slot_ticks_) * on.rate, whole);
        at += whole;
        begin = at * slot_ticks_;
      } else {
        const std::int64_t end = (at + 1) * slot_ticks_;
        walk.run(on, static_cast<double>(std::min(end, claim.deadline) - begin));
        ++at;
        begin = end;
      }
      const auto is_done = walk.is_done();
      if (!is_done) return suffices_by_slot(claim, plan, lost);
      if (*is_done) return true;
    }
  }
  return false;
}

bool ProgressiveFilling::suffices_by_slot(const Claim& claim, const SlotPlan& plan,
                                          double lost) const {
  Walk walk(claim, claim.work);
  std::int64_t begin = now_;
  for (std::int64_t now_slot = slot(); begin < claim.deadline; ++now_slot) {
    const std::int64_t end = (now_slot + 1) * slot_ticks_;
    const auto ticks = static_cast<double>(std::min(end, claim.deadline) - begin);
    if (now_slot - plan.first >= plan.size()) return false;
    begin = end;
    const int gpus = plan.at(now_slot);
    if (gpus == 0) {
      walk.idle();
      continue;
    }
    const int i = widest(claim.widths, gpus);
    if (i < 0) return false;
    if (lost > 0) {
      walk.debt = walk.cost(gpus) + lost;
      walk.width = gpus;
      lost = 0;
    }
    walk.run(claim.widths[static_cast<std::size_t>(i)], ticks);
    if (walk.left <= 0) return true;
  }
  return false;
}

std::int64_t ProgressiveFilling::slots_until(std::int64_t deadline) const noexcept {
  const std::int64_t last = deadline / slot_ticks_ + (deadline % slot_ticks_ != 0 ? 1 : 0);
  return std::clamp<std::int64_t>(last - slot(), 0, kMaxSlots);
}

std::int64_t ProgressiveFilling::gpu_slots(const SlotPlan& plan) const noexcept {
  std::int64_t sum = 0;
  std::int64_t begin = std::max<std::int64_t>(0, slot() - plan.first);
  for (const SlotPlan::Stretch& known : plan.stretches) {
    if (known.end <= begin) continue;
    sum += known.gpus * (known.end - begin);
    begin = known.end;
  }
  return sum;
}

}  // namespace gpusched
