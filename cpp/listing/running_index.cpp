#include "listing/running_index.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {

std::size_t RunningIndex::find_block(const Entry& entry) const {
  return static_cast<std::size_t>(std::lower_bound(lasts_.begin(), lasts_.end(), entry) -
                                  lasts_.begin());
}

int RunningIndex::find_in(const Block& block, const Entry& entry) {
  return static_cast<int>(std::lower_bound(block.entries, block.entries + block.size, entry) -
                          block.entries);
}

Boxed<RunningIndex::Block> RunningIndex::new_block() {
  if (spare_.empty()) return std::make_unique<Block>();
  auto block = std::move(spare_.back());
  spare_.pop_back();
  block->size = 0;
  block->sum = 0;
  return block;
}

void RunningIndex::insert(Entry entry) {
  total_ += entry.gpus;
  if (blocks_.empty()) {
    blocks_.push_back(new_block());
    lasts_.push_back(entry);
  }
  std::size_t at = std::min(find_block(entry), blocks_.size() - 1);
  if (blocks_[at]->size == kCapacity) {
    auto upper = new_block();
    Block& lower = *blocks_[at];
    constexpr int kHalf = kCapacity / 2;
    std::copy(lower.entries + kHalf, lower.entries + kCapacity, upper->entries);
    upper->size = kCapacity - kHalf;
    lower.size = kHalf;
    for (int i = 0; i < upper->size; ++i) upper->sum += upper->entries[i].gpus;
    lower.sum -= upper->sum;
    const auto offset = static_cast<std::ptrdiff_t>(at);
    lasts_.insert(lasts_.begin() + offset, lower.entries[kHalf - 1]);
    blocks_.insert(blocks_.begin() + offset + 1, std::move(upper));
    if (lasts_[at] < entry) ++at;
  }
  Block& block = *blocks_[at];
  const int position = find_in(block, entry);
  std::copy_backward(block.entries + position, block.entries + block.size,
                     block.entries + block.size + 1);
  block.entries[position] = entry;
  ++block.size;
  block.sum += entry.gpus;
  lasts_[at] = block.entries[block.size - 1];
}

bool RunningIndex::contains(Time end, JobId job) const {
  const Entry entry{end, job, 0};
  const std::size_t at = find_block(entry);
  return at < blocks_.size() && blocks_[at]->entries[find_in(*blocks_[at], entry)].job == job;
}

void RunningIndex::erase(Time end, JobId job) {
  const Entry entry{end, job, 0};
  const std::size_t at = find_block(entry);
  Block& block = *blocks_[at];
  const int position = find_in(block, entry);
  const int gpus = block.entries[position].gpus;
  std::copy(block.entries + position + 1, block.entries + block.size, block.entries + position);
  --block.size;
  block.sum -= gpus;
  total_ -= gpus;
  if (block.size > 0) {
    lasts_[at] = block.entries[block.size - 1];
    return;
  }
  const auto offset = static_cast<std::ptrdiff_t>(at);
  spare_.push_back(std::move(blocks_[at]));
  blocks_.erase(blocks_.begin() + offset);
  lasts_.erase(lasts_.begin() + offset);
}

std::int64_t RunningIndex::sum_from(Time end, JobId job, std::int64_t enough) const {
  // From the back: what a caller asks about is mostly near it.
  const Entry entry{end, job, 0};
  std::int64_t sum = 0;
  for (std::size_t at = blocks_.size(); at > 0 && sum < enough;) {
    --at;
    const Block& block = *blocks_[at];
    if (lasts_[at] < entry) break;
    if (!(block.entries[0] < entry)) {
      sum += block.sum;
      continue;
    }
    for (int i = block.size - 1; i >= 0 && !(block.entries[i] < entry); --i) {
      sum += block.entries[i].gpus;
    }
    break;
  }
  return sum;
}

RunningIndex::Cursor RunningIndex::first_after(Time end) const {
  const Entry next{end + kTick, 0, 0};
  const std::size_t at = find_block(next);
  if (at == blocks_.size()) return {-1, 0};
  return {static_cast<std::ptrdiff_t>(at), find_in(*blocks_[at], next)};
}

RunningIndex::Cursor RunningIndex::last_until(Time end) const {
  Cursor next = first_after(end);
  if (!next.is_valid()) return last();
  step_back(next);
  return next;
}

const RunningIndex::Entry* RunningIndex::reach(std::int64_t need, std::int64_t& before) const {
  before = 0;
  for (const auto& block : blocks_) {
    if (before + block->sum < need) {
      before += block->sum;
      continue;
    }
    for (int i = 0;; ++i) {
      if (before + block->entries[i].gpus >= need) return &block->entries[i];
      before += block->entries[i].gpus;
    }
  }
  return nullptr;
}

const RunningIndex::Entry& RunningIndex::reach_from_back(std::int64_t need) const {
  std::size_t at = blocks_.size() - 1;
  for (; blocks_[at]->sum < need; --at) need -= blocks_[at]->sum;
  const Block& block = *blocks_[at];
  int i = block.size - 1;
  for (; block.entries[i].gpus < need; --i) need -= block.entries[i].gpus;
  return block.entries[i];
}

std::int64_t RunningIndex::sum_until(Time end) const {
  std::int64_t sum = 0;
  for (std::size_t at = 0; at < blocks_.size(); ++at) {
    if (lasts_[at].end <= end) {
      sum += blocks_[at]->sum;
      continue;
    }
    const Block& block = *blocks_[at];
    for (int i = 0; i < block.size && block.entries[i].end <= end; ++i) {
      sum += block.entries[i].gpus;
    }
    break;
  }
  return sum;
}

}  // namespace gpusched
