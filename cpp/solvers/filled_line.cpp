#include "solvers/filled_line.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpusched {
namespace {

constexpr std::size_t kEntriesInBlock = 12;

/// Adds what the plan takes in the slots [low, high) to `used`, which begins with slot `low`.
void add_plan(std::span<std::int64_t> used, const SlotPlan& plan, std::int64_t low,
              std::int64_t high, std::int64_t sign) noexcept {
  std::int64_t begin = 0;
  for (const SlotPlan::Stretch& known : plan.stretches) {
    if (begin >= high) return;
    const std::int64_t end = std::min(known.end, high);
    if (known.gpus > 0) {
      for (std::int64_t slot = std::max(begin, low); slot < end; ++slot) {
        used[static_cast<std::size_t>(slot - low)] += sign * known.gpus;
      }
    }
    begin = known.end;
  }
}

std::int64_t at(const std::vector<std::int64_t>& used, std::int64_t slot) noexcept {
  return static_cast<std::size_t>(slot) < used.size() ? used[static_cast<std::size_t>(slot)] : 0;
}

void reach(std::vector<std::int64_t>& used, std::int64_t slots) {
  if (used.size() < static_cast<std::size_t>(slots)) used.resize(static_cast<std::size_t>(slots));
}

}  // namespace

void FilledLine::close() noexcept {
  is_open_ = false;
  blocks_.clear();
}

void FilledLine::open(std::int64_t now, std::int64_t blocked, std::span<const Member> members) {
  now_ = now;
  blocked_ = blocked;
  is_open_ = true;
  stands_as_filled_ = false;
  standing_.open(now);
  if (blocked > 0) standing_.block(blocked);
  blocks_.assign(1, {});
  for (const Member& member : members) {
    standing_.add(*member.standing);
    if (blocks_.back().entries.size() == kEntriesInBlock) blocks_.emplace_back();
    blocks_.back().entries.push_back({member});
  }
  refill();
}

void FilledLine::open_filling() {
  filling_.open(now_);
  if (blocked_ > 0) filling_.block(blocked_);
}

/// Plans all anew, up to the first that fails.
void FilledLine::refill() {
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

/// As progressive filling does when it has come to the claim.
void FilledLine::fill(const Claim& claim, Entry& entry) {
  const bool is_planned = filling_.fill(claim, entry.plan);
  entry.outcome = is_planned ? Outcome::planned : Outcome::failed;
  entry.share = filling_.share();
  entry.has_failed = !is_planned || filling_.has_failed();
}

void FilledLine::describe(Block& block) const {
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

FilledLine::Place FilledLine::place_of(double key) const {
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

bool FilledLine::is_planned_before(const Place& place) const {
  const auto is_planned = [](const Entry& entry) { return entry.outcome == Outcome::planned; };
  if (place.index > 0) return is_planned(blocks_[place.block].entries[place.index - 1]);
  return place.block == 0 || blocks_[place.block - 1].entries.empty() ||
         is_planned(blocks_[place.block - 1].entries.back());
}

bool FilledLine::try_join(const Claim& claim, double key) {
  place_ = place_of(key);
  changes_.clear();
  clear_shift();
  own_ = {};
  must_refill_ = false;
  is_replanned_ = is_slow_ ? replan_all(claim) : is_planned_before(place_) && replan(claim);
  if (is_replanned_) {
    plan_ = own_.plan;
    return true;
  }
  return standing_.find(claim, plan_);
}

/// All one after the other: the slow twin of `replan`.
bool FilledLine::replan_all(const Claim& claim) {
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

bool FilledLine::replan(const Claim& claim) {
  come_to(place_, filling_.slots_until(claim.deadline));
  fill(claim, own_);
  if (own_.outcome == Outcome::failed) return false;
  shift(own_.plan, 1);
  return replan_others(claim);
}

/// Those behind the new claim; false at the first that fails.
bool FilledLine::replan_others(const Claim& claim) {
  for (Place place = place_; place.block < blocks_.size(); ++place.block, place.index = 0) {
    if (place.block > place_.block) {
      if (is_unchanged(place.block)) continue;
      come_to(place, 0);
    }
    const Block& block = blocks_[place.block];
    for (; place.index < block.entries.size(); ++place.index) {
      const Entry& entry = block.entries[place.index];
      if (is_unchanged(entry)) {
        if (entry.outcome == Outcome::failed) return false;
        filling_.add(entry.plan);
        continue;
      }
      changes_.push_back({place, {entry.member}});
      Entry& now = changes_.back().entry;
      fill(*entry.member.claim, now);
      if (now.outcome == Outcome::failed) return false;
      // What failed found a way where something else was free: seldom, and what comes behind it is
      // open.
      if (entry.outcome == Outcome::failed) return replan_all(claim);
      shift(entry.plan, -1);
      shift(now.plan, 1);
    }
  }
  return true;
}

/// What is taken before the place, the shift included, as far as its block looks, or so many slots.
void FilledLine::come_to(const Place& place, std::int64_t slots) {
  const Block& block = blocks_[place.block];
  slots = std::max(slots, block.slots);
  const auto known = std::min(block.before.size(), static_cast<std::size_t>(slots));
  filling_.open(now_, std::span(block.before).first(known));
  for (std::size_t i = 0; i < place.index; ++i) filling_.add(block.entries[i].plan);
  const std::int64_t end = std::min(high_, slots);
  if (low_ >= end) return;
  filling_.add(low_, std::span(shift_).subspan(static_cast<std::size_t>(low_),
                                               static_cast<std::size_t>(end - low_)));
}

/// Whether all entries of the block keep their plans.
bool FilledLine::is_unchanged(std::size_t index) const {
  const Block& block = blocks_[index];
  if (block.entries.empty()) return true;
  if (block.entries.back().outcome != Outcome::planned) return false;
  const auto& after = index + 1 < blocks_.size() ? blocks_[index + 1].before : all_;
  for (std::int64_t slot = low_; slot < high_; ++slot) {
    const std::int64_t shift = shift_[static_cast<std::size_t>(slot)];
    if (shift == 0) continue;
    const std::int64_t most = at(after, slot) + std::max<std::int64_t>(0, shift);
    const std::int64_t least = at(block.before, slot) + std::min<std::int64_t>(0, shift);
    if (most + block.most <= num_gpus_) continue;  // all that is looked for fits, as it did
    if (least + block.least > num_gpus_) continue;  // nothing does, as it did not
    if (block.is_monotone && shift > 0 && most <= num_gpus_) continue;  // what was taken fits
    return false;
  }
  return true;
}

/// The same of one entry to which the filling has come.
bool FilledLine::is_unchanged(const Entry& entry) const {
  if (!frees_ && entry.is_monotone()) return fits_as_planned(entry);
  const std::int64_t size = entry.plan.size();
  const std::int64_t until =
      std::min(high_, entry.has_failed ? filling_.slots_until(entry.member.claim->deadline) : size);
  std::int64_t begin = 0;
  const auto is_kept = [&](std::int64_t end, int gpus) {
    for (std::int64_t slot = std::max(begin, low_); slot < std::min(end, until); ++slot) {
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

/// Whether what it has is still free. So it is where nothing more is taken.
bool FilledLine::fits_as_planned(const Entry& entry) const {
  std::int64_t begin = 0;
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    const std::int64_t end = std::min(known.end, high_);
    for (std::int64_t slot = std::max(begin, low_); slot < end; ++slot) {
      if (filling_.free_at(static_cast<std::size_t>(slot)) < known.gpus) return false;
    }
    begin = known.end;
  }
  return true;
}

bool FilledLine::is_unchanged_at(const Entry& entry, int gpus, std::int64_t slot) const {
  const std::int64_t shift = shift_[static_cast<std::size_t>(slot)];
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

void FilledLine::shift(const SlotPlan& plan, int sign) {
  const std::int64_t end = plan.size();
  if (end == 0) return;
  reach(shift_, end);
  add_plan(shift_, plan, 0, end, sign);
  low_ = 0;
  high_ = std::max(high_, end);
  const auto is_zero = [&](std::int64_t slot) {
    return shift_[static_cast<std::size_t>(slot)] == 0;
  };
  while (low_ < high_ && is_zero(low_)) ++low_;
  while (low_ < high_ && is_zero(high_ - 1)) --high_;
  frees_ = std::any_of(shift_.begin() + low_, shift_.begin() + high_,
                       [](std::int64_t more) { return more < 0; });
}

void FilledLine::clear_shift() noexcept {
  for (; low_ < high_; ++low_) shift_[static_cast<std::size_t>(low_)] = 0;
  low_ = high_ = 0;
  frees_ = false;
}

void FilledLine::join(const Member& member) {
  if (must_refill_) {
    insert(member);
    refill();
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
    standing_.add(plan_);
    return;
  }
  for (const Block& block : blocks_) {
    for (const Entry& entry : block.entries) *entry.member.standing = entry.plan;
  }
  standing_.open(now_, all_);
  stands_as_filled_ = true;
}

/// Brings the entries to where all are planned anew beside the new claim, up to the first that
/// fails.
void FilledLine::apply(const Member& member) {
  clear_shift();
  if (own_.outcome == Outcome::planned) shift(own_.plan, 1);
  const bool stands = is_replanned_ && stands_as_filled_;
  auto change = changes_.begin();
  bool has_failed = own_.outcome != Outcome::planned;
  if (own_.outcome == Outcome::failed) forget_from(place_);
  for (std::size_t index = place_.block; !has_failed; ++index) {
    const bool is_touched = change != changes_.end() && change->place.block == index;
    for (; change != changes_.end() && change->place.block == index; ++change) {
      Entry& entry = blocks_[index].entries[change->place.index];
      shift(entry.plan, -1);
      shift(change->entry.plan, 1);
      if (stands) {
        standing_.add(entry.plan, -1);
        standing_.add(change->entry.plan);
        *entry.member.standing = change->entry.plan;
      }
      entry = std::move(change->entry);
      has_failed = entry.outcome == Outcome::failed;
      if (has_failed) forget_from({index, change->place.index + 1});
    }
    if (is_touched) describe(blocks_[index]);
    // What follows an entry that fails is not planned.
    if (has_failed || !is_planned_before({index + 1, 0})) break;
    const bool is_last = index + 1 == blocks_.size();
    auto& next = is_last ? all_ : blocks_[index + 1].before;
    reach(next, high_);
    for (std::int64_t slot = low_; slot < high_; ++slot) {
      next[static_cast<std::size_t>(slot)] += shift_[static_cast<std::size_t>(slot)];
    }
    if (is_last) break;
  }
  insert(member);
}

/// At the place found last.
void FilledLine::insert(const Member& member) {
  own_.member = member;
  Block& block = blocks_[place_.block];
  block.entries.insert(block.entries.begin() + static_cast<std::ptrdiff_t>(place_.index),
                       std::move(own_));
  if (block.entries.size() > 2 * kEntriesInBlock) split(place_.block);
  describe(blocks_[place_.block]);
}

void FilledLine::split(std::size_t index) {
  Block second;
  Block& first = blocks_[index];
  const auto middle = first.entries.begin() + kEntriesInBlock;
  second.entries.assign(std::make_move_iterator(middle),
                        std::make_move_iterator(first.entries.end()));
  first.entries.erase(middle, first.entries.end());
  second.before = first.before;
  for (const Entry& entry : first.entries) {
    reach(second.before, entry.plan.size());
    add_plan(second.before, entry.plan, 0, entry.plan.size(), 1);
  }
  describe(second);
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(index) + 1, std::move(second));
}

/// Nothing is known any more of the plans from the place on.
void FilledLine::forget_from(Place place) {
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

}  // namespace gpusched
