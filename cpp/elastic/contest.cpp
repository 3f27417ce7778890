#include "elastic/contest.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {

Contender* Contest::winner_of_all(GrowthClaim so_far) noexcept {
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

void Contest::pass_block(Block& block, const GrowthClaim& last) {
  const std::size_t before = chain_.size();
  claims_.pass(last, block.begin, block.end, chain_);
  if (chain_.size() > before || ++block.in_vain < kMostInVain) return;
  block.limits = {};
  for (std::uint32_t at = block.begin; at < block.end; ++at) block.limits.add(claims_[at]);
  block.in_vain = 0;
}

void Contest::add(std::uint32_t number) {
  begin_anew();
  const JobId id = contenders_[number].id;
  const GrowthClaim claim = contenders_[number].claim();
  Block& block = blocks_[block_for(id)];
  const auto end = numbers_.begin() + block.end;
  const auto at = std::partition_point(numbers_.begin() + block.begin, end,
                                       [&](std::uint32_t n) { return contenders_[n].id < id; });
  std::copy_backward(at, end, end + 1);
  *at = number;
  const auto place = static_cast<std::uint32_t>(at - numbers_.begin());
  claims_.move(place, block.end, place + 1);
  claims_.set(place, claim);
  ++block.end;
  block.limits.add(claim);
  all_.add(claim);
}

std::uint32_t Contest::block_for(JobId id) {
  if (order_.empty()) return add_block(0);
  const auto ends_before = [&](std::uint32_t b) {
    return contender_at(blocks_[b].end - 1).id < id;
  };
  auto found = std::partition_point(order_.begin(), order_.end(), ends_before);
  const bool comes_last = found == order_.end();
  if (comes_last) --found;
  const std::uint32_t lower = *found;
  if (blocks_[lower].end - blocks_[lower].begin < kMostOfBlock) return lower;
  const std::uint32_t upper = add_block(static_cast<std::size_t>(found - order_.begin()) + 1);
  if (comes_last) return upper;
  split(blocks_[lower], blocks_[upper]);
  return ends_before(lower) ? upper : lower;
}

std::uint32_t Contest::add_block(std::size_t place) {
  const auto number = static_cast<std::uint32_t>(blocks_.size());
  const std::uint32_t begin = number * kMostOfBlock;
  blocks_.push_back({begin, begin, kNoBlock, {}});
  if (numbers_.size() == begin) {
    numbers_.resize(begin + kMostOfBlock);
    claims_.resize(begin + kMostOfBlock);
  }
  if (place > 0) {
    blocks_[number].next = std::exchange(blocks_[order_[place - 1]].next, number);
  }
  order_.insert(order_.begin() + static_cast<std::ptrdiff_t>(place), number);
  return number;
}

void Contest::split(Block& lower, Block& upper) noexcept {
  const std::uint32_t middle = lower.begin + kMostOfBlock / 2;
  claims_.move(middle, lower.end, upper.begin);
  std::copy(numbers_.begin() + middle, numbers_.begin() + lower.end,
            numbers_.begin() + upper.begin);
  upper.end = upper.begin + (lower.end - middle);
  upper.limits = lower.limits;
  lower.end = middle;
}

}  // namespace gpusched
