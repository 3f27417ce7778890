#include "elastic/lease_line.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {
namespace {

constexpr std::size_t kInBlock = 24;
/// Maximum total of usage stored before blocks.
constexpr std::size_t kMostKept = std::size_t{1} << 24;

}  // namespace

LeaseLine::LeaseLine(std::int64_t num_gpus, std::span<const Taken> taken, std::vector<Claim> claims)
    : num_gpus_(static_cast<Taken>(num_gpus)) {
  for (const Claim& claim : claims) {
    num_leases_ = std::max(num_leases_, claim.until);
    entries_.push_back({claim, {}, false});
  }
  const auto num_leases = static_cast<std::size_t>(num_leases_);
  for (std::size_t slot = 0; slot < num_leases; ++slot) {
    all_.push_back(taken_at(taken, num_leases - 1 - slot));
  }
  in_block_ = std::max(kInBlock, claims.size() * num_leases / kMostKept);
  blocks_.resize(claims.size() / in_block_ + 1);
  for (Block& block : blocks_) block.before = all_;
  for (std::size_t place = 0; place < claims.size(); ++place) {
    Block& block = blocks_[place / in_block_];
    const int gpus = claims[place].gpus;
    block.least = place % in_block_ == 0 ? gpus : std::min(block.least, gpus);
    block.most = std::max(block.most, gpus);
  }
}

bool LeaseLine::try_join(std::size_t place) {
  shift_.clear();
  changes_.clear();
  if (!replan(place)) return false;
  commit();
  return true;
}

/// The claim and those behind it that change; false at the first that finds too few leases.
bool LeaseLine::replan(std::size_t place) {
  std::size_t at = place / in_block_ * in_block_;
  for (std::size_t block = place / in_block_; block < blocks_.size(); ++block) {
    const std::size_t end = std::min(entries_.size(), (block + 1) * in_block_);
    if (at > place && keeps(block)) {
      at = end;
      continue;
    }
    taken_ = blocks_[block].before;
    add_taken(taken_, shift_.begin(), shift_.before(shift_.end()));
    for (; at < end; ++at) {
      const Entry& entry = entries_[at];
      if (at != place && !entry.has_joined) continue;
      if (at < place || (at > place && keeps(entry))) {
        entry.plan.add_to(taken_);
        continue;
      }
      Change& change = changes_.emplace_back(Change{at, {}});
      if (!find(entry.claim, change.plan)) return false;
      if (at == place && fits_beside_all(change.plan)) return true;
      shift_.replace(entry.plan, change.plan);
      change.plan.add_to(taken_);
    }
  }
  return true;
}

void LeaseLine::commit() {
  const std::size_t place = changes_.front().place;
  entries_[place].has_joined = true;
  ++blocks_[place / in_block_].num_joined;
  shift_.clear();
  auto change = changes_.begin();
  for (std::size_t block = place / in_block_; block < blocks_.size(); ++block) {
    for (; change != changes_.end() && change->place / in_block_ == block; ++change) {
      SlotPlan& plan = entries_[change->place].plan;
      shift_.replace(plan, change->plan);
      plan = std::move(change->plan);
    }
    auto& next = block + 1 < blocks_.size() ? blocks_[block + 1].before : all_;
    add_taken(next, shift_.begin(), shift_.before(shift_.end()));
  }
}

bool LeaseLine::find(const Claim& claim, SlotPlan& plan) const {
  std::int64_t slot = first(claim);
  if (slot > 0) plan.push(0, slot);
  const Taken most = num_gpus_ - claim.gpus;
  for (std::int64_t left = claim.leases; left > 0;) {
    const std::int64_t full = slots_within(taken_, slot, num_leases_ - slot, most + 1, kMostTaken);
    if (full > 0) plan.push(0, full);
    slot += full;
    const std::int64_t room =
        slots_within(taken_, slot, std::min(left, num_leases_ - slot), -kMostTaken, most);
    if (room == 0) return false;
    plan.push(claim.gpus, room);
    slot += room;
    left -= room;
  }
  return true;
}

/// Whether no job behind it has to make room.
bool LeaseLine::fits_beside_all(const SlotPlan& plan) const {
  std::int64_t begin = 0;
  return std::all_of(plan.stretches.begin(), plan.stretches.end(), [&](const auto& known) {
    const std::int64_t first = std::exchange(begin, known.end);
    const std::int64_t size = known.end - first;
    const Taken most = num_gpus_ - known.gpus;
    return known.gpus == 0 || slots_within(all_, first, size, -kMostTaken, most) == size;
  });
}

/// Whether all that joined in the block keep their plans.
bool LeaseLine::keeps(std::size_t block) const {
  if (blocks_[block].num_joined == 0) return true;
  const TakenAround around{
      .before = blocks_[block].before,
      .after = block + 1 < blocks_.size() ? blocks_[block + 1].before : all_,
      .all = num_gpus_,
      .least = blocks_[block].least,
      .most = blocks_[block].most,
      .is_monotone = true,
  };
  return keeps_plans(around, shift_.begin(), shift_.before(shift_.end()));
}

/// Whether there is room where it has leases, and none where it would take them instead.
bool LeaseLine::keeps(const Entry& entry) const {
  const Taken high = num_gpus_ - entry.claim.gpus;
  std::int64_t slot = std::max(shift_.begin(), first(entry.claim));
  for (const SlotPlan::Stretch& known : entry.plan.stretches) {
    const std::int64_t size = std::min(known.end, shift_.end()) - slot;
    if (size <= 0) continue;
    const bool has = known.gpus > 0;
    const std::int64_t alike =
        slots_within(taken_, slot, size, has ? -kMostTaken : high + 1, has ? high : kMostTaken);
    if (alike < size) return false;
    slot += size;
  }
  return true;
}

}  // namespace gpusched
