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

void ProgressiveFilling::open(std::int64_t now) noexcept {
  now_ = now;
  used_.clear();
}

void ProgressiveFilling::add(const SlotPlan& plan) {
  const std::int64_t gone = slot() - plan.first;
  const auto size = static_cast<std::int64_t>(plan.gpus.size());
  if (size <= gone) return;
  if (used_.size() < static_cast<std::size_t>(size - gone)) {
    used_.resize(static_cast<std::size_t>(size - gone));
  }
  for (std::int64_t i = std::max<std::int64_t>(gone, 0); i < size; ++i) {
    used_[static_cast<std::size_t>(i - gone)] += plan.gpus[static_cast<std::size_t>(i)];
  }
}

void ProgressiveFilling::block(std::int64_t gpus) {
  if (used_.empty()) used_.resize(1);
  used_.front() += gpus;
}

bool ProgressiveFilling::fill(const Claim& claim, SlotPlan& plan) {
  is_cut_off_ = false;
  for (std::size_t share = 0; share < claim.widths.size(); ++share) {
    const double window = static_cast<double>(claim.deadline - now_);
    if (window * claim.widths[share].rate < claim.work) continue;
    if (!fill_share(claim, share, plan)) continue;
    add(plan);
    return true;
  }
  return false;
}

bool ProgressiveFilling::fill_share(const Claim& claim, std::size_t share, SlotPlan& plan) {
  const auto widths = claim.widths.first(share + 1);
  const double rate = widths.back().rate;
  // Remaining work and finishes are rounded up to ticks; a move may cost one restart.
  Walk walk(claim, claim.work * (1 + 1e-9) + 2 * std::max(1.0, rate) + claim.restart * rate);
  plan.first = slot();
  plan.gpus.clear();
  std::int64_t begin = now_;
  for (std::size_t i = 0; begin < claim.deadline && i < kMaxSlots; ++i) {
    const std::int64_t end = (plan.first + static_cast<std::int64_t>(i) + 1) * slot_ticks_;
    const auto ticks = static_cast<double>(std::min(end, claim.deadline) - begin);
    begin = end;
    const std::int64_t free = free_at(i);
    const int chosen = widest(widths, free);
    if (chosen < 0) {
      walk.idle();
      plan.gpus.push_back(0);
      continue;
    }
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
    plan.gpus.push_back(on.gpus);
    if (walk.left <= 0) return true;
  }
  is_cut_off_ = is_cut_off_ || begin < claim.deadline;
  return false;
}

bool ProgressiveFilling::suffices(const Claim& claim, const SlotPlan& plan, double lost) const {
  Walk walk(claim, claim.work);
  std::int64_t begin = now_;
  for (std::int64_t now_slot = slot(); begin < claim.deadline; ++now_slot) {
    const std::int64_t end = (now_slot + 1) * slot_ticks_;
    const auto ticks = static_cast<double>(std::min(end, claim.deadline) - begin);
    if (now_slot - plan.first >= static_cast<std::int64_t>(plan.gpus.size())) return false;
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

std::int64_t ProgressiveFilling::gpu_slots(const SlotPlan& plan) const noexcept {
  std::int64_t sum = 0;
  const auto size = static_cast<std::int64_t>(plan.gpus.size());
  for (std::int64_t i = std::max<std::int64_t>(0, slot() - plan.first); i < size; ++i) {
    sum += plan.gpus[static_cast<std::size_t>(i)];
  }
  return sum;
}

}  // namespace gpusched
