#include "solvers/filled_line.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace gpusched {
namespace {

constexpr std::size_t kEntriesInBlock = 32;

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
    blocks_.back().entries.push_back({member, {}, Outcome::unknown, false});
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
      entry.outcome = Outcome::unknown;
      entry.plan.stretches.clear();
      if (!is_complete) continue;
      is_complete = filling_.fill(*entry.member.claim, entry.plan);
      entry.outcome = is_complete ? Outcome::planned : Outcome::failed;
      entry.is_plain = is_complete && !filling_.has_failed();
    }
    describe(block);
  }
  all_.assign(filling_.used().begin(), filling_.used().end());
}

void FilledLine::describe(Block& block) const {
  block.most = 0;
  block.least = std::numeric_limits<int>::max();
  block.is_plain = true;
  for (const Entry& entry : block.entries) {
    const Claim& claim = *entry.member.claim;
    block.most = std::max({block.most, claim.widths.back().gpus, claim.width});
    block.least = std::min(block.least, claim.widths.front().gpus);
    if (claim.width > 0) block.least = std::min(block.least, claim.width);
    block.is_plain = block.is_plain && entry.is_plain;
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
  if (!find_at(place_, claim, own_.plan)) {
    own_.outcome = Outcome::failed;
    return false;
  }
  own_.outcome = Outcome::planned;
  own_.is_plain = !filling_.has_failed();
  shift(own_.plan, 1);
  return replan_others(claim);
}

/// Those behind the new claim; false at the first that fails.
bool FilledLine::replan_others(const Claim& claim) {
  for (Place place = place_; place.block < blocks_.size(); ++place.block, place.index = 0) {
    const Block& block = blocks_[place.block];
    if (place.index == 0 && is_unchanged(place.block)) continue;
    see_until(place);
    for (; place.index < block.entries.size(); ++place.index) {
      const Entry& entry = block.entries[place.index];
      if (is_unchanged(entry)) {
        if (entry.outcome == Outcome::failed) return false;
        add_plan(seen_, entry.plan, low_, high_, 1);
        continue;
      }
      Change change{place, {}, false, Outcome::failed};
      if (find_at(place, *entry.member.claim, change.plan)) {
        change.outcome = Outcome::planned;
        change.is_plain = !filling_.has_failed();
      }
      if (entry.outcome == Outcome::failed) {
        if (change.outcome == Outcome::failed) return false;
        // It found a way where something else was free: seldom, and what comes behind is open.
        return replan_all(claim);
      }
      shift(entry.plan, -1);
      shift(change.plan, 1);
      changes_.push_back(std::move(change));
      if (changes_.back().outcome == Outcome::failed) return false;
      see_until({place.block, place.index + 1});
    }
  }
  return true;
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
    if (block.is_plain && shift > 0 && most <= num_gpus_) continue;  // what was taken fits
    return false;
  }
  return true;
}

/// The same of one entry, `seen_` being what is taken before it.
bool FilledLine::is_unchanged(const Entry& entry) const {
  const Claim& claim = *entry.member.claim;
  // What has failed looked at everything until the deadline.
  const std::int64_t until =
      std::min(high_, entry.is_plain ? entry.plan.size() : filling_.slots_until(claim.deadline));
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

bool FilledLine::is_unchanged_at(const Entry& entry, int gpus, std::int64_t slot) const {
  const std::int64_t shift = shift_[static_cast<std::size_t>(slot)];
  const std::int64_t now = num_gpus_ - seen_[static_cast<std::size_t>(slot - low_)];  // free
  if (shift == 0) return true;
  // Where less is free nothing wider fits, and a narrower one is no reason to leave what fits.
  if (entry.is_plain && shift > 0) return gpus <= now;
  const Claim& claim = *entry.member.claim;
  const auto fits_alike = [&](int width) { return (width <= now) == (width <= now + shift); };
  return fits_alike(claim.width) &&
         std::all_of(claim.widths.begin(), claim.widths.end(),
                     [&](const WidthRate& width) { return fits_alike(width.gpus); });
}

/// Into `seen_`, what is taken before the place.
void FilledLine::see_until(const Place& place) {
  const Block& block = blocks_[place.block];
  seen_.resize(static_cast<std::size_t>(high_ - low_));
  for (std::int64_t slot = low_; slot < high_; ++slot) {
    seen_[static_cast<std::size_t>(slot - low_)] =
        at(block.before, slot) + shift_[static_cast<std::size_t>(slot)];
  }
  for (std::size_t i = 0; i < place.index; ++i) {
    add_plan(seen_, block.entries[i].plan, low_, high_, 1);
  }
}

/// As progressive filling does when it comes to the place.
bool FilledLine::find_at(const Place& place, const Claim& claim, SlotPlan& plan) {
  const Block& block = blocks_[place.block];
  const std::int64_t slots = filling_.slots_until(claim.deadline);
  const auto known = std::min(block.before.size(), static_cast<std::size_t>(slots));
  used_.assign(block.before.begin(), block.before.begin() + static_cast<std::ptrdiff_t>(known));
  used_.resize(static_cast<std::size_t>(slots));
  for (std::size_t i = 0; i < place.index; ++i) {
    add_plan(used_, block.entries[i].plan, 0, slots, 1);
  }
  for (std::int64_t slot = low_; slot < std::min(high_, slots); ++slot) {
    used_[static_cast<std::size_t>(slot)] += shift_[static_cast<std::size_t>(slot)];
  }
  filling_.open(now_, used_);
  return filling_.find(claim, plan);
}

void FilledLine::shift(const SlotPlan& plan, int sign) {
  const std::int64_t end = plan.size();
  if (end == 0) return;
  reach(shift_, end);
  add_plan(shift_, plan, 0, end, sign);
  low_ = low_ == high_ ? 0 : std::min<std::int64_t>(low_, 0);
  high_ = std::max(high_, end);
  const auto is_zero = [&](std::int64_t slot) {
    return shift_[static_cast<std::size_t>(slot)] == 0;
  };
  while (low_ < high_ && is_zero(low_)) ++low_;
  while (low_ < high_ && is_zero(high_ - 1)) --high_;
}

void FilledLine::clear_shift() noexcept {
  for (; low_ < high_; ++low_) shift_[static_cast<std::size_t>(low_)] = 0;
  low_ = high_ = 0;
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
      shift(change->plan, 1);
      if (stands) {
        standing_.add(entry.plan, -1);
        standing_.add(change->plan);
        *entry.member.standing = change->plan;
      }
      entry.plan = std::move(change->plan);
      entry.is_plain = change->is_plain;
      entry.outcome = change->outcome;
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
