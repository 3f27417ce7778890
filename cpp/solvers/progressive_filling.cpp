#include "solvers/progressive_filling.hpp"

#include <algorithm>

namespace gpusched {
namespace {

/// A job on its way through a plan.
struct Walk {
  const Claim& claim;
  double left;
  double debt;
  int width;
  bool has_run;

  Walk(const Claim& of, double work)
      : claim(of), left(work), debt(of.debt), width(of.width), has_run(of.has_run) {}

  /// Time without progress at the head of a stretch on so many GPUs.
  [[nodiscard]] double cost(int gpus) const noexcept {
    if (gpus == width) return debt;
    return has_run ? claim.restart : 0.0;
  }

  void run(const WidthRate& on, double ticks) noexcept {
    const double unpaid = cost(on.gpus);
    left -= std::max(0.0, ticks - unpaid) * on.rate;
    debt = std::max(0.0, unpaid - ticks);
    width = on.gpus;
    has_run = true;
  }

  /// As `run` in so many slots one after the other, nothing being unpaid; stops when the work is
  /// done, and returns in how many it ran.
  std::int64_t run_on(double rate, double ticks, std::int64_t slots) noexcept {
    const double done = ticks * rate;
    std::int64_t ran = 0;
    while (ran < slots && left > 0) {
      left -= done;
      ++ran;
    }
    return ran;
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

void ProgressiveFilling::open(std::int64_t now, std::span<const std::int64_t> used) {
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
    for (std::int64_t i = std::max(begin, gone); i < known.end && known.gpus > 0; ++i) {
      used_[static_cast<std::size_t>(i - gone)] += sign * known.gpus;
    }
    begin = known.end;
  }
}

void ProgressiveFilling::add(std::int64_t first, std::span<const std::int64_t> gpus) {
  const auto begin = static_cast<std::size_t>(first);
  if (used_.size() < begin + gpus.size()) used_.resize(begin + gpus.size());
  for (std::size_t i = 0; i < gpus.size(); ++i) used_[begin + i] += gpus[i];
}

void ProgressiveFilling::block(std::int64_t gpus) {
  if (used_.empty()) used_.resize(1);
  used_.front() += gpus;
}

bool ProgressiveFilling::fill(const Claim& claim, SlotPlan& plan) {
  if (!find(claim, plan)) return false;
  add(plan);
  return true;
}

bool ProgressiveFilling::find(const Claim& claim, SlotPlan& plan) {
  is_cut_off_ = has_failed_ = false;
  share_ = claim.widths.size() - 1;
  for (std::size_t share = 0; share < claim.widths.size(); ++share) {
    const double window = static_cast<double>(claim.deadline - now_);
    if (window * claim.widths[share].rate < claim.work) continue;
    share_ = share;
    if (find_share(claim, share, plan)) return true;
    has_failed_ = true;
  }
  plan.stretches.clear();
  return false;
}

bool ProgressiveFilling::find_share(const Claim& claim, std::size_t share, SlotPlan& plan) {
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
    // Whole slots behind this one in which nothing else is free.
    const std::int64_t whole = std::min<std::int64_t>((claim.deadline - end) / slot_ticks_,
                                                      kMaxSlots - 1 - static_cast<std::int64_t>(i));
    ++i;
    if (chosen < 0) {
      walk.idle();
      const std::int64_t idle = alike(i - 1, whole);
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
    if (walk.left <= 0) return true;
    // It came with what it has and owed nothing: so it goes on while as much is free.
    if (!is_steady || before != on.gpus || end > claim.deadline) continue;
    const auto slot_length = static_cast<double>(slot_ticks_);
    const std::int64_t ran = walk.run_on(on.rate, slot_length, alike(i - 1, whole));
    if (ran == 0) continue;
    plan.push(on.gpus, ran);
    if (walk.left <= 0) return true;
    i += static_cast<std::size_t>(ran);
    begin += ran * slot_ticks_;
  }
  is_cut_off_ = is_cut_off_ || begin < claim.deadline;
  return false;
}

std::int64_t ProgressiveFilling::alike(std::size_t i, std::int64_t most) const noexcept {
  if (most <= 0) return 0;
  const std::int64_t taken = i < used_.size() ? used_[i] : 0;
  const std::size_t end = std::min(used_.size(), i + 1 + static_cast<std::size_t>(most));
  std::size_t next = i + 1;
  while (next < end && used_[next] == taken) ++next;
  // Behind the ledger nothing is taken.
  if (next >= used_.size() && taken == 0) return most;
  return static_cast<std::int64_t>(next - i - 1);
}

bool ProgressiveFilling::suffices(const Claim& claim, const SlotPlan& plan, double lost) const {
  Walk walk(claim, claim.work);
  // By how much the work left may differ from what is left slot by slot.
  double error = 0;
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
        const auto slots = static_cast<double>(whole);
        const double done = slots * (static_cast<double>(slot_ticks_) * on.rate);
        error += (slots + 4) * (walk.left + done) * 0x1p-52;
        walk.left -= done;
        at += whole;
        begin = at * slot_ticks_;
      } else {
        const std::int64_t end = (at + 1) * slot_ticks_;
        walk.run(on, static_cast<double>(std::min(end, claim.deadline) - begin));
        ++at;
        begin = end;
      }
      if (walk.left < -error || (walk.left <= 0 && error == 0)) return true;
      if (walk.left <= error) return suffices_by_slot(claim, plan, lost);
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
