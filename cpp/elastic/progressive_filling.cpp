#include "elastic/progressive_filling.hpp"

#include <algorithm>
#include <limits>

#include "base/time.hpp"

namespace gpusched {
namespace {

/// A job advancing through a plan. A stretch without a change is counted as the engine does, from
/// its start and rounded up to a tick once, so that a plan that ends at the deadline differs from
/// one that ends a tick later.
class Walk {
 public:
  Walk(const Claim& claim, double work)
      : claim_(claim),
        left_(work),
        left_before_(work),
        debt_(claim.debt),
        width_(claim.width),
        has_run_(claim.has_run) {}

  [[nodiscard]] int width() const noexcept { return width_; }
  [[nodiscard]] double debt() const noexcept { return debt_; }
  /// Remaining work; more than 0 until it is done.
  [[nodiscard]] double left() const noexcept {
    return std::max(left_, std::numeric_limits<double>::min());
  }
  /// Time without progress at the start of a stretch on this many GPUs.
  [[nodiscard]] double cost(int gpus) const noexcept {
    if (gpus == width_) return debt_;
    return has_run_ ? claim_.restart : 0.0;
  }
  [[nodiscard]] bool is_done() const noexcept {
    return left_ < rate_ && static_cast<double>(ceil_ticks(left_before_ / rate_)) <= ran_;
  }

  /// Continues on this many GPUs after paying this debt.
  void owe(int gpus, double debt) noexcept {
    debt_ = debt;
    width_ = gpus;
  }

  void run(const WidthRate& on, double ticks) noexcept {
    const double unpaid = cost(on.gpus);
    if (on.gpus != width_ || on.rate != rate_) begin(on.rate);
    advance(std::max(0.0, ticks - unpaid));
    debt_ = std::max(0.0, unpaid - ticks);
    width_ = on.gpus;
    has_run_ = true;
  }

  /// Continues unchanged through at most this many slots until the work is done; returns the number
  /// of slots.
  /// many it ran.
  std::int64_t run_on(std::int64_t slot_ticks, std::int64_t slots) noexcept {
    const double needed = static_cast<double>(ceil_ticks(left_before_ / rate_)) - ran_;
    const auto ticks = static_cast<std::int64_t>(std::min(needed, static_cast<double>(kMaxTicks)));
    slots = std::min(slots, ceil_div(ticks, slot_ticks));
    advance(static_cast<double>(slots) * static_cast<double>(slot_ticks));
    return slots;
  }

  void idle() noexcept {
    width_ = 0;
    debt_ = 0;
  }

 private:
  void begin(double rate) noexcept {
    left_before_ = left_;
    ran_ = 0;
    rate_ = rate;
  }
  void advance(double ticks) noexcept {
    ran_ += ticks;
    left_ = left_before_ - ran_ * rate_;
  }

  const Claim& claim_;
  double left_;
  double left_before_;  // the present stretch
  double ran_ = 0;      // ticks of it, without what was paid
  double rate_ = 0;     // on it; 0: none has begun
  double debt_;
  int width_;
  bool has_run_;
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
    if (ceil_ticks(claim.work / claim.widths[share].rate) > claim.deadline - now_) continue;
    share_ = share;
    if (find_share(claim, share, plan)) return true;
  }
  plan.stretches.clear();
  return false;
}

bool ProgressiveFilling::find_share(const Claim& claim, std::size_t share, SlotPlan& plan) {
  const auto widths = claim.widths.first(share + 1);
  // A move may cost one restart.
  Walk walk(claim, claim.work + claim.restart * widths.back().rate);
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
    const std::int64_t whole = is_slow_ ? 0 : std::min((claim.deadline - end) / slot_ticks_, left);
    if (chosen < 0) {
      walk.idle();
      const std::int64_t idle = alike(static_cast<std::int64_t>(i), whole, widths, chosen);
      plan.push(0, 1 + idle);
      i += static_cast<std::size_t>(idle);
      begin += idle * slot_ticks_;
      continue;
    }
    const bool is_steady = walk.debt() == 0 && end - slot_ticks_ >= now_;
    const int before = walk.width();
    WidthRate on = widths[static_cast<std::size_t>(chosen)];
    if (before != on.gpus && before > 0 && before <= free) {
      // The job keeps its width if a change would not pay within the slot.
      const int same = widest(widths, before);
      if (same >= 0 && widths[static_cast<std::size_t>(same)].gpus == before) {
        const WidthRate kept = widths[static_cast<std::size_t>(same)];
        const double changed = std::max(0.0, ticks - walk.cost(on.gpus)) * on.rate;
        if (changed <= std::max(0.0, ticks - walk.debt()) * kept.rate) on = kept;
      }
    }
    walk.run(on, ticks);
    plan.push(on.gpus, 1);
    if (walk.is_done()) return true;
    // It already held its width and owed nothing: it continues.
    if (!is_steady || before != on.gpus || end > claim.deadline) continue;
    const std::int64_t slots = alike(static_cast<std::int64_t>(i), whole, widths, chosen);
    const std::int64_t ran = walk.run_on(slot_ticks_, slots);
    if (ran == 0) continue;
    plan.push(on.gpus, ran);
    if (walk.is_done()) return true;
    i += static_cast<std::size_t>(ran);
    begin += ran * slot_ticks_;
  }
  is_cut_off_ = is_cut_off_ || begin < claim.deadline;
  shortfall_ = walk.left();
  return false;
}

std::int64_t ProgressiveFilling::alike(std::int64_t begin, std::int64_t most,
                                       std::span<const WidthRate> widths,
                                       int chosen) const noexcept {
  const auto wider = static_cast<std::size_t>(chosen + 1);
  // The range of taken GPUs in which its choice is the same.
  const Taken high = chosen < 0 ? kMostTaken : most_beside(widths[wider - 1].gpus);
  const Taken low = wider < widths.size() ? most_beside(widths[wider].gpus) + 1 : -kMostTaken;
  return slots_within(used_, begin, most, low, high);
}

bool ProgressiveFilling::suffices(const Claim& claim, const SlotPlan& plan, double lost) const {
  // The remaining work of a job that has run is rounded up to a tick: a plan may lack one tick.
  Walk walk(claim, claim.has_run ? claim.work - 1 : claim.work);
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
    bool has_begun = false;  // the stretch
    while (at < stop && begin < claim.deadline) {
      if (unpaid > 0) {
        walk.owe(known.gpus, walk.cost(known.gpus) + unpaid);
        unpaid = 0;
      }
      const std::int64_t whole = std::min(stop - at, (claim.deadline - begin) / slot_ticks_);
      if (has_begun && walk.width() == on.gpus && walk.debt() == 0 && whole > 1) {
        at += walk.run_on(slot_ticks_, whole);
        begin = at * slot_ticks_;
      } else {
        const std::int64_t end = (at + 1) * slot_ticks_;
        walk.run(on, static_cast<double>(std::min(end, claim.deadline) - begin));
        ++at;
        begin = end;
        has_begun = true;
      }
      if (walk.is_done()) return true;
    }
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
