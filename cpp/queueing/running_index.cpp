#include "queueing/running_index.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {
namespace {

/// How many of the sorted entries are before `entry`. Whether a half is passed over cannot be
/// foretold, so it is computed and not branched on.
std::size_t num_before(const RunningIndex::Entry* entries, std::size_t size,
                       const RunningIndex::Entry& entry) {
  const auto is_before = [&](const RunningIndex::Entry& own) {
    return own.end.count() - std::int64_t{own.job < entry.job} < entry.end.count();
  };
  const RunningIndex::Entry* first = entries;
  while (size > 0) {
    const std::size_t half = (size + 1) / 2;
    first = is_before(first[half - 1]) ? first + half : first;
    size -= half;
  }
  return static_cast<std::size_t>(first - entries);
}

}  // namespace

std::size_t RunningIndex::find_block(const Entry& entry) const {
  return num_before(lasts_.data(), lasts_.size(), entry);
}

int RunningIndex::find_in(const Block& block, const Entry& entry) {
  const auto size = static_cast<std::size_t>(block.end - block.begin);
  return block.begin + static_cast<int>(num_before(block.entries + block.begin, size, entry));
}

Boxed<RunningIndex::Block> RunningIndex::new_block() {
  if (spare_.empty()) return std::make_unique<Block>();
  auto block = std::move(spare_.back());
  spare_.pop_back();
  block->begin = block->end = 0;
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
  if (blocks_[at]->end - blocks_[at]->begin == kCapacity) {
    auto upper = new_block();
    Block& lower = *blocks_[at];
    constexpr int kHalf = kCapacity / 2;
    std::copy(lower.entries + kHalf, lower.entries + kCapacity, upper->entries);
    upper->end = kCapacity - kHalf;
    lower.end = kHalf;
    for (int i = 0; i < upper->end; ++i) upper->sum += upper->entries[i].gpus;
    lower.sum -= upper->sum;
    const auto offset = static_cast<std::ptrdiff_t>(at);
    lasts_.insert(lasts_.begin() + offset, lower.entries[kHalf - 1]);
    blocks_.insert(blocks_.begin() + offset + 1, std::move(upper));
    if (lasts_[at] < entry) ++at;
  }
  Block& block = *blocks_[at];
  int position = find_in(block, entry);
  Entry* const entries = block.entries;
  if (block.begin > 0 &&
      (block.end == kCapacity || position - block.begin < block.end - position)) {
    std::copy(entries + block.begin, entries + position, entries + block.begin - 1);
    --block.begin;
    --position;
  } else {
    std::copy_backward(entries + position, entries + block.end, entries + block.end + 1);
    ++block.end;
  }
  entries[position] = entry;
  block.sum += entry.gpus;
  lasts_[at] = entries[block.end - 1];
}

bool RunningIndex::contains(Time end, JobId job) const {
  const Entry entry{end, job, 0};
  const std::size_t at = find_block(entry);
  return at < blocks_.size() && blocks_[at]->entries[find_in(*blocks_[at], entry)].job == job;
}

void RunningIndex::erase(Time end, JobId job) {
  const Entry entry{end, job, 0};
  const bool is_front = !(front() < entry);  // as where runs end as expected
  const std::size_t at = is_front ? 0 : find_block(entry);
  Block& block = *blocks_[at];
  const int position = is_front ? block.begin : find_in(block, entry);
  Entry* const entries = block.entries;
  const int gpus = entries[position].gpus;
  if (position - block.begin < block.end - 1 - position) {
    std::copy_backward(entries + block.begin, entries + position, entries + position + 1);
    ++block.begin;
  } else {
    std::copy(entries + position + 1, entries + block.end, entries + position);
    --block.end;
  }
  block.sum -= gpus;
  total_ -= gpus;
  if (block.begin < block.end) {
    lasts_[at] = entries[block.end - 1];
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
    if (!(block.entries[block.begin] < entry)) {
      sum += block.sum;
      continue;
    }
    for (int i = block.end - 1; i >= block.begin && !(block.entries[i] < entry); --i) {
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
    for (int i = block->begin;; ++i) {
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
  int i = block.end - 1;
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
    for (int i = block.begin; i < block.end && block.entries[i].end <= end; ++i) {
      sum += block.entries[i].gpus;
    }
    break;
  }
  return sum;
}

}  // namespace gpusched
