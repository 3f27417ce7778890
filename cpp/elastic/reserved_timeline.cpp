#include "elastic/reserved_timeline.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpusched {
namespace {

constexpr std::size_t kEntriesInBlock = 8;

/// Upper bound on the rounding error of a plan's total work.
constexpr double kWalkRounding = 1e-9;

}  // namespace

void ReservedTimeline::close() noexcept {
  is_open_ = false;
  blocks_.clear();
}

void ReservedTimeline::open(std::int64_t now, std::int64_t blocked,
                            std::span<const Member> members) {
  now_ = now;
  blocked_ = blocked;
  is_open_ = true;
  refusals_.clear();
  stands_as_filled_ = false;
  standing_.open(now);
  if (blocked > 0) standing_.block(blocked);
  blocks_.assign(1, {});
  for (const Member& member : members) {
    standing_.add(*member.standing);
    if (blocks_.back().entries.size() == kEntriesInBlock) blocks_.emplace_back();
    blocks_.back().entries.push_back({member});
  }
  fill_all();
}

void ReservedTimeline::open_filling() {
  filling_.open(now_);
  if (blocked_ > 0) filling_.block(blocked_);
}

/// Replans all, up to the first that fails.
void ReservedTimeline::fill_all() {
  open_filling();
  bool is_complete = true;
  for (Block& block : blocks_) {
    block.before.assign(filling_.used().begin(), filling_.used().end());
    for (Entry& entry : block.entries) {
      entry = {entry.member};
      if (!is_complete) continue;
      fill(*entry.member.claim, entry);
      is_complete = entry.outcome == Outcome::planned;
    }
    describe(block);
  }
  all_.assign(filling_.used().begin(), filling_.used().end());
}

/// As progressive filling does when it reaches the claim.
void ReservedTimeline::fill(const Claim& claim, Entry& entry, std::size_t first) {
  const bool is_planned = filling_.fill(claim, entry.plan, first);
  entry.outcome = is_planned ? Outcome::planned : Outcome::failed;
  entry.share = filling_.share();
  entry.shortfall = filling_.shortfall();
}

void ReservedTimeline::describe(Block& block) const {
  block.slots = 0;
  block.most = 0;
  block.least = std::numeric_limits<int>::max();
  block.is_monotone = true;
  for (const Entry& entry : block.entries) {
    const Claim& claim = *entry.member.claim;
    block.most = std::max({block.most, claim.widths[entry.share].gpus, claim.width});
    block.least = std::min(block.least, claim.widths.front().gpus);
    if (claim.width > 0) block.least = std::min(block.least, claim.width);
    block.slots = std::max(block.slots, filling_.slots_until(claim.deadline));
    block.is_monotone = block.is_monotone && entry.is_monotone();
  }
}

ReservedTimeline::Place ReservedTimeline::place_of(double key) const {
  auto block = std::upper_bound(blocks_.begin() + 1, blocks_.end(), key,
                                [](double value, const Block& known) {
                                  return value < known.entries.front().member.key;
                                }) -
               1;
  const auto index =
      std::upper_bound(block->entries.begin(), block->entries.end(), key,
                       [](double value, const Entry& known) { return value < known.member.key; });
  return {static_cast<std::size_t>(block - blocks_.begin()),
          static_cast<std::size_t>(index - block->entries.begin())};
}

bool ReservedTimeline::is_planned_before(const Place& place) const {
  const auto is_planned = [](const Entry& entry) { return entry.outcome == Outcome::planned; };
  if (place.index > 0) return is_planned(blocks_[place.block].entries[place.index - 1]);
  return place.block == 0 || blocks_[place.block - 1].entries.empty() ||
         is_planned(blocks_[place.block - 1].entries.back());
}

bool ReservedTimeline::try_join(const Claim& claim, double key, std::int64_t limit) {
  place_ = place_of(key);
  changes_.clear();
  shift_.clear();
  own_ = {{&claim, nullptr, key}};
  must_refill_ = false;
  is_refused_as_before_ = false;
  is_replanned_ = false;
  if (is_slow_) {
    is_replanned_ = replan_all(claim);
  } else if (is_planned_before(place_) && plan_own(claim)) {
    // If that plan is too long, later claims matter only if the claim fits around all plans.
    const bool is_short = filling_.gpu_slots(own_.plan) < limit;
    if (!is_short && !stands_beside(claim, limit)) return false;
    is_replanned_ = replan_others(claim);
    if (!is_short) return !is_replanned_;
  }
  if (!is_replanned_) return stands_beside(claim, limit);
  plan_ = own_.plan;
  return filling_.gpu_slots(plan_) < limit;
}

/// Whether it could have a plan of fewer GPU slots around the existing plans.
bool ReservedTimeline::stands_beside(const Claim& claim, std::int64_t limit) {
  return standing_.find(claim, plan_) && standing_.gpu_slots(plan_) < limit;
}

/// All one after the other: the slow reference of `plan_own` and `replan_others`.
bool ReservedTimeline::replan_all(const Claim& claim) {
  must_refill_ = true;
  open_filling();
  SlotPlan plan;
  for (std::size_t block = 0; block < blocks_.size(); ++block) {
    for (std::size_t index = 0; index <= blocks_[block].entries.size(); ++index) {
      const bool is_own = block == place_.block && index == place_.index;
      if (is_own && !filling_.fill(claim, own_.plan)) return false;
      if (index == blocks_[block].entries.size()) break;
      if (!filling_.fill(*blocks_[block].entries[index].member.claim, plan)) return false;
    }
  }
  return true;
}

bool ReservedTimeline::plan_own(const Claim& claim) {
  come_to(place_, filling_.slots_until(claim.deadline));
  fill(claim, own_);
  return own_.outcome == Outcome::planned;
}

/// Replans the claims behind the new one, unless one is known to fail.
bool ReservedTimeline::replan_others(const Claim& claim) {
  is_refused_as_before_ = refusals_.has(own_.plan, own_.member.key);
  return !is_refused_as_before_ && push_others(claim);
}

/// Replans the claims behind the new one; false at the first that fails.
bool ReservedTimeline::push_others(const Claim& claim) {
  shift_.replace({}, own_.plan);
  for (Place place = place_; place.block < blocks_.size(); ++place.block, place.index = 0) {
    if (place.block > place_.block) {
      if (is_unchanged(place.block)) continue;
      come_to(place, 0);
    }
    const Block& block = blocks_[place.block];
    for (; place.index < block.entries.size(); ++place.index) {
      const Entry& entry = block.entries[place.index];
      if (is_unchanged(entry)) {
        if (entry.outcome == Outcome::failed) return note_refusal(entry);
        filling_.add(entry.plan);
        continue;
      }
      changes_.push_back({place, {entry.member}});
      Entry& now = changes_.back().entry;
      refill(entry, now);
      if (now.outcome == Outcome::failed) return note_refusal(entry);
      // A failed claim may succeed if other GPUs are free: rare, and the claims behind it are
      // unknown.
      if (entry.outcome == Outcome::failed) return replan_all(claim);
      shift_.replace(entry.plan, now.plan);
    }
  }
  return true;
}

/// False. All went as it did until the first entry that changed.
bool ReservedTimeline::note_refusal(const Entry& failed) {
  const Entry& pushed = changes_.empty() ? failed : changes_.front().entry;
  refusals_.add(own_.plan, {own_.member.key, pushed.member.key, failed.member.key});
  return false;
}

/// The usage before the place, including the shift, for its block's horizon or this many slots.
void ReservedTimeline::come_to(const Place& place, std::int64_t slots) {
  const Block& block = blocks_[place.block];
  slots = std::max(slots, block.slots);
  const auto known = std::min(block.before.size(), static_cast<std::size_t>(slots));
  filling_.open(now_, std::span(block.before).first(known));
  for (std::size_t i = 0; i < place.index; ++i) filling_.add(block.entries[i].plan);
  filling_.add(shift_.begin(), shift_.before(slots));
}

void ReservedTimeline::join(const Member& member) {
  if (is_refused_as_before_ && plan_own(*member.claim)) (void)push_others(*member.claim);
  refusals_.forget_behind(member.key);
  if (must_refill_) {
    insert(member);
    fill_all();
  } else {
    apply(member);
  }
  if (!is_replanned_) {
    *member.standing = plan_;
    standing_.add(plan_);
    stands_as_filled_ = false;
    return;
  }
  if (stands_as_filled_ && !must_refill_) {
    *member.standing = plan_;
    standing_.add(shift_.begin(), shift_.before(shift_.end()));
    return;
  }
  for (const Block& block : blocks_) {
    for (const Entry& entry : block.entries) *entry.member.standing = entry.plan;
  }
  standing_.open(now_, all_);
  stands_as_filled_ = true;
}

/// Updates the entries as if all were replanned with the new claim, up to the first that fails.
void ReservedTimeline::apply(const Member& member) {
  shift_.clear();
  if (own_.outcome == Outcome::planned) shift_.replace({}, own_.plan);
  const bool stands = is_replanned_ && stands_as_filled_;
  auto change = changes_.begin();
  bool has_failed = own_.outcome != Outcome::planned;
  if (own_.outcome == Outcome::failed) forget_from(place_);
  for (std::size_t index = place_.block; !has_failed; ++index) {
    const bool is_touched = change != changes_.end() && change->place.block == index;
    for (; change != changes_.end() && change->place.block == index; ++change) {
      Entry& entry = blocks_[index].entries[change->place.index];
      shift_.replace(entry.plan, change->entry.plan);
      if (stands) *entry.member.standing = change->entry.plan;
      entry = std::move(change->entry);
      has_failed = entry.outcome == Outcome::failed;
      if (has_failed) forget_from({index, change->place.index + 1});
    }
    if (is_touched) describe(blocks_[index]);
    // Entries behind a failed one are not planned.
    if (has_failed || !is_planned_before({index + 1, 0})) break;
    const bool is_last = index + 1 == blocks_.size();
    auto& next = is_last ? all_ : blocks_[index + 1].before;
    add_taken(next, shift_.begin(), shift_.before(shift_.end()));
    if (is_last) break;
  }
  insert(member);
}

/// At the place found last.
void ReservedTimeline::insert(const Member& member) {
  own_.member = member;
  Block& block = blocks_[place_.block];
  block.entries.insert(block.entries.begin() + static_cast<std::ptrdiff_t>(place_.index),
                       std::move(own_));
  if (block.entries.size() > 2 * kEntriesInBlock) split(place_.block);
  describe(blocks_[place_.block]);
}

void ReservedTimeline::split(std::size_t index) {
  Block second;
  Block& first = blocks_[index];
  const auto middle = first.entries.begin() + kEntriesInBlock;
  second.entries.assign(std::make_move_iterator(middle),
                        std::make_move_iterator(first.entries.end()));
  first.entries.erase(middle, first.entries.end());
  second.before = first.before;
  for (const Entry& entry : first.entries) {
    entry.plan.add_to(second.before);
  }
  describe(second);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(second));
}

/// Nothing is known any more of the plans from the place on.
void ReservedTimeline::forget_from(Place place) {
  for (; place.block < blocks_.size(); ++place.block, place.index = 0) {
    auto& entries = blocks_[place.block].entries;
    for (; place.index < entries.size(); ++place.index) {
      Entry& entry = entries[place.index];
      if (entry.outcome == Outcome::unknown) return;
      entry.outcome = Outcome::unknown;
      entry.plan.stretches.clear();
    }
  }
}

/// Whether all entries of the block keep their plans.
bool ReservedTimeline::is_unchanged(std::size_t index) const {
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
bool ReservedTimeline::is_unchanged(const Entry& entry) const {
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
bool ReservedTimeline::chooses_as_planned(const Entry& entry) const {
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
bool ReservedTimeline::fits_as_planned(const Entry& entry) const {
  std::int64_t begin = shift_.begin();
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    const std::int64_t end = std::min(known.end, shift_.end());
    for (; begin < end; ++begin) {
      if (filling_.free_at(static_cast<std::size_t>(begin)) < known.gpus) return false;
    }
  }
  return true;
}

bool ReservedTimeline::is_unchanged_at(const Entry& entry, int gpus, std::int64_t slot) const {
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

/// Replans an entry whose plan differed before the shift. Shares that failed are skipped if all
/// GPUs that come free cannot make up for the missing work.
void ReservedTimeline::refill(const Entry& before, Entry& entry) {
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

/// Upper bound on the service that the shift adds from a slot on, if the widest free one of the
/// first `num_widths` widths is taken.
double ReservedTimeline::gained(const Claim& claim, std::size_t num_widths,
                                std::int64_t begin) const {
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

void RefusalCache::clear() noexcept {
  by_failed_.clear();
  by_plan_.clear();
}

void RefusalCache::add(const SlotPlan& plan, const Refusal& refusal) {
  const auto [known, is_new] = by_plan_.try_emplace(plan.stretches, refusal);
  if (is_new) {
    by_failed_.emplace(refusal.failed, known);
  } else if (known->second.failed == refusal.failed) {
    known->second = refusal;
  }
}

bool RefusalCache::has(const SlotPlan& plan, double key) const {
  const auto known = by_plan_.find(plan.stretches);
  return known != by_plan_.end() && known->second.newcomer <= key && key < known->second.pushed;
}

void RefusalCache::forget_behind(double key) {
  const auto first = by_failed_.upper_bound(key);
  for (auto known = first; known != by_failed_.end(); ++known) by_plan_.erase(known->second);
  by_failed_.erase(first, by_failed_.end());
}

}  // namespace gpusched
