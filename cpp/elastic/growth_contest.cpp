#include "elastic/growth_contest.hpp"

#include <algorithm>

namespace gpusched {
namespace {

// Remaining work is rounded up to a tick, and divided.
constexpr double kMostRounding = 4.0;
constexpr double kRelativeRounding = 1e-12;

}  // namespace

void GrowthContest::insert(const Contender& contender) {
  std::uint32_t number = 0;
  if (vacant_.empty()) {
    number = static_cast<std::uint32_t>(contenders_.size());
    contenders_.push_back(contender);
  } else {
    number = vacant_.back();
    vacant_.pop_back();
    contenders_[number] = contender;
  }
  add(number);
}

void GrowthContest::erase(JobId id) {
  begin_anew();
  const std::size_t order = order_of(id);
  Block& block = blocks_[order_[order]];
  const std::uint32_t at = place_of(block, id);
  vacant_.push_back(numbers_[at]);
  std::copy(numbers_.begin() + at + 1, numbers_.begin() + block.end, numbers_.begin() + at);
  std::copy(claims_.begin() + at + 1, claims_.begin() + block.end, claims_.begin() + at);
  if (--block.end > block.begin) return;
  vacant_blocks_.push_back(order_[order]);
  order_.erase(order_.begin() + static_cast<std::ptrdiff_t>(order));
  is_settled_ = false;
}

void GrowthContest::note_pace(JobId id, double pace) {
  Block& block = blocks_[order_[order_of(id)]];
  contender_at(place_of(block, id)).pace = pace;
  block.pace = std::max(block.pace, pace);
}

void GrowthContest::renew(const State& state) {
  state_ = &state;
  now_ = state.now();
  begin_anew();
  for (const std::uint32_t b : order_) {
    Block& block = blocks_[b];
    block.limits = block.inserted;
    block.limits.shortest -= block.pace * static_cast<double>((now_ - block.since).count());
    block.in_vain = 0;
    block.is_stale = true;
  }
  is_settled_ = false;
}

void GrowthContest::refresh(Block& block) {
  block.is_stale = false;
  block.limits = block.inserted = {};
  block.pace = 0.0;
  block.since = now_;
  for (std::uint32_t at = block.begin; at < block.end; ++at) {
    Contender& contender = contender_at(at);
    contender.work = static_cast<double>(state_->remaining(contender.id).count());
    const GrowthClaim claim = contender.claim();
    claims_[at] = claim;
    block.limits.add(claim);
    note_inserted(block, contender, claim);
  }
}

void GrowthContest::note_inserted(Block& block, const Contender& contender,
                                  const GrowthClaim& claim) {
  const double rounding = claim.length * kRelativeRounding + kMostRounding / contender.rate;
  block.inserted.add(claim.length - rounding, claim.of_more, claim.of_less);
  block.pace = std::max(block.pace, contender.pace);
}

Contender* GrowthContest::winner(StopCheck& stop) {
  if (looks_at_all_) return winner_of_all(kNoRival);
  pass(so_far(), stop);
  if (chain_.empty()) return nullptr;
  winner_ = chain_.back();
  chain_.pop_back();
  begin_ = winner_ + 1;
  return &contender_at(winner_);
}

Contender* GrowthContest::winner_from(const GrowthClaim& first, StopCheck& stop) {
  if (looks_at_all_) return winner_of_all(first);
  if (!may_pass(all_, first)) return nullptr;
  begin_anew();
  pass(first, stop);
  if (chain_.empty()) return nullptr;
  winner_ = chain_.back();
  begin_anew();
  return &contender_at(winner_);
}

void GrowthContest::pass(GrowthClaim last, StopCheck& stop) {
  if (order_.empty()) return;
  if (!is_settled_) settle_order();
  std::size_t place = 0;
  if (begin_ > 0) {
    const Block& block = blocks_[winner_ / kMostOfBlock];
    pass_claims(last, begin_, block.end);
    place = block.place + 1;
  }
  std::size_t steps = 1;
  for (std::size_t g = place / kBlocksOfGroup; g < groups_.size(); ++g) {
    const std::size_t end = std::min((g + 1) * kBlocksOfGroup, order_.size());
    if (!chain_.empty()) last = so_far();
    ++steps;
    if (place < end && may_pass(groups_[g].limits, last)) {
      steps += end - place;
      pass_group(groups_[g], place, end, last);
    }
    place = end;
  }
  stop.count(steps);
}

/// From `at` to before `end`: the claims that lead, one after the other.
void GrowthContest::pass_claims(GrowthClaim last, std::uint32_t at, std::uint32_t end) {
  for (; at < end; ++at) {
    const GrowthClaim& claim = claims_[at];
    if (!claim.passes(last)) continue;
    chain_.push_back(at);
    last = claim;
  }
}

void GrowthContest::pass_group(Group& group, std::size_t first, std::size_t end, GrowthClaim last) {
  const std::size_t before = chain_.size();
  for (std::size_t place = first; place < end; ++place) {
    if (!chain_.empty()) last = so_far();
    Block& block = blocks_[order_[place]];
    if (may_pass(block.limits, last)) pass_block(block, last);
  }
  if (chain_.size() > before || ++group.in_vain < kMostInVain) return;
  const std::size_t begin = static_cast<std::size_t>(&group - groups_.data()) * kBlocksOfGroup;
  group = {};
  for (std::size_t place = begin; place < end; ++place) {
    group.limits.add(blocks_[order_[place]].limits);
  }
}

void GrowthContest::pass_block(Block& block, const GrowthClaim& last) {
  if (block.is_stale) refresh(block);
  const std::size_t before = chain_.size();
  pass_claims(last, block.begin, block.end);
  if (chain_.size() > before || ++block.in_vain < kMostInVain) return;
  block.limits = {};
  for (std::uint32_t at = block.begin; at < block.end; ++at) block.limits.add(claims_[at]);
  block.in_vain = 0;
}

Contender* GrowthContest::winner_of_all(GrowthClaim so_far) noexcept {
  Contender* found = nullptr;
  for (const std::uint32_t b : order_) {
    for (std::uint32_t at = blocks_[b].begin; at < blocks_[b].end; ++at) {
      const GrowthClaim claim = contender_at(at).claim();
      if (!claim.passes(so_far)) continue;
      so_far = claim;
      winner_ = at;
      found = &contender_at(at);
    }
  }
  return found;
}

void GrowthContest::claim_again() {
  const GrowthClaim claim = contender_at(winner_).claim();
  claims_[winner_] = claim;
  Block& block = blocks_[winner_ / kMostOfBlock];
  block.limits.add(claim);
  if (is_settled_) groups_[block.place / kBlocksOfGroup].limits.add(claim);
  all_.add(claim);
  if (begin_ > 0 && claim.passes(so_far())) chain_.push_back(winner_);
}

void GrowthContest::remove_all() noexcept {
  blocks_.clear();
  vacant_blocks_.clear();
  order_.clear();
  is_settled_ = false;
  all_ = {};
  begin_anew();
}

void GrowthContest::settle_order() {
  groups_.assign((order_.size() + kBlocksOfGroup - 1) / kBlocksOfGroup, {});
  for (std::size_t place = 0; place < order_.size(); ++place) {
    Block& block = blocks_[order_[place]];
    block.place = static_cast<std::uint32_t>(place);
    groups_[place / kBlocksOfGroup].limits.add(block.limits);
  }
  is_settled_ = true;
}

void GrowthContest::add(std::uint32_t number) {
  begin_anew();
  const Contender& contender = contenders_[number];
  const GrowthClaim claim = contender.claim();
  Block& block = blocks_[block_for(contender.id)];
  const std::uint32_t at = place_of(block, contender.id);
  const auto begin = numbers_.begin();
  std::copy_backward(begin + at, begin + block.end, begin + block.end + 1);
  numbers_[at] = number;
  const auto claims = claims_.begin();
  std::copy_backward(claims + at, claims + block.end, claims + block.end + 1);
  claims_[at] = claim;
  ++block.end;
  block.limits.add(claim);
  note_inserted(block, contender, claim);
  if (is_settled_) groups_[block.place / kBlocksOfGroup].limits.add(claim);
  all_.add(claim);
}

/// The position of the job in its block, or where it would be.
std::uint32_t GrowthContest::place_of(const Block& block, JobId id) const {
  const auto at =
      std::partition_point(numbers_.begin() + block.begin, numbers_.begin() + block.end,
                           [&](std::uint32_t number) { return contenders_[number].id < id; });
  return static_cast<std::uint32_t>(at - numbers_.begin());
}

/// The first block that does not end before the job.
std::size_t GrowthContest::order_of(JobId id) const {
  const auto found = std::partition_point(order_.begin(), order_.end(), [&](std::uint32_t b) {
    return contenders_[numbers_[blocks_[b].end - 1]].id < id;
  });
  return static_cast<std::size_t>(found - order_.begin());
}

std::uint32_t GrowthContest::block_for(JobId id) {
  if (order_.empty()) return add_block(0);
  std::size_t found = order_of(id);
  const bool comes_last = found == order_.size();
  if (comes_last) --found;
  const std::uint32_t lower = order_[found];
  if (blocks_[lower].end - blocks_[lower].begin < kMostOfBlock) return lower;
  const std::uint32_t upper = add_block(found + 1);
  if (comes_last) return upper;
  split(blocks_[lower], blocks_[upper]);
  return contender_at(blocks_[lower].end - 1).id < id ? upper : lower;
}

std::uint32_t GrowthContest::add_block(std::size_t place) {
  auto number = static_cast<std::uint32_t>(blocks_.size());
  if (!vacant_blocks_.empty()) {
    number = vacant_blocks_.back();
    vacant_blocks_.pop_back();
  } else {
    blocks_.emplace_back();
  }
  const std::uint32_t begin = number * kMostOfBlock;
  Block block{begin, begin};
  block.since = now_;
  blocks_[number] = block;
  if (numbers_.size() == begin) {
    numbers_.resize(begin + kMostOfBlock);
    claims_.resize(begin + kMostOfBlock);
  }
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), number);
  is_settled_ = false;
  return number;
}

void GrowthContest::split(Block& lower, Block& upper) noexcept {
  const std::uint32_t middle = lower.begin + kMostOfBlock / 2;
  std::copy(claims_.begin() + middle, claims_.begin() + lower.end, claims_.begin() + upper.begin);
  std::copy(numbers_.begin() + middle, numbers_.begin() + lower.end,
            numbers_.begin() + upper.begin);
  const auto [begin, place] = std::pair(upper.begin, upper.place);
  upper = lower;
  upper.begin = begin;
  upper.place = place;
  upper.end = begin + (lower.end - middle);
  lower.end = middle;
}

}  // namespace gpusched
