#include "placing/server_bucket.hpp"

#include <algorithm>

namespace gpusched {

ServerId ServerBucket::first_with_room(std::int64_t cpu, std::int64_t memory) const noexcept {
  for (const Block& block : blocks_) {
    if (!block.may_have_room(cpu, memory)) continue;
    for (int i = 0; i < block.size; ++i) {
      if (block.entries[i].has_room(cpu, memory)) return block.entries[i].server;
    }
  }
  return -1;
}

std::size_t ServerBucket::find_block(const Entry& entry) const noexcept {
  const auto above =
      std::upper_bound(blocks_.begin() + 1, blocks_.end(), entry,
                       [](const Entry& a, const Block& b) { return a < b.entries[0]; });
  return static_cast<std::size_t>(above - blocks_.begin()) - 1;
}

int ServerBucket::find_in(const Block& block, const Entry& entry) noexcept {
  return static_cast<int>(std::lower_bound(block.entries, block.entries + block.size, entry) -
                          block.entries);
}

void ServerBucket::measure(Block& block) noexcept {
  const Entry& first = block.entries[0];
  block.range = {first.server, first.cpu_milli, first.cpu_milli, first.memory_mib,
                 first.memory_mib};
  for (int i = 1; i < block.size; ++i) {
    const Entry& entry = block.entries[i];
    block.range.lowest = std::min(block.range.lowest, entry.server);
    block.range.least_cpu_milli = std::min(block.range.least_cpu_milli, entry.cpu_milli);
    block.range.most_cpu_milli = std::max(block.range.most_cpu_milli, entry.cpu_milli);
    block.range.least_memory_mib = std::min(block.range.least_memory_mib, entry.memory_mib);
    block.range.most_memory_mib = std::max(block.range.most_memory_mib, entry.memory_mib);
  }
}

void ServerBucket::insert(const Entry& entry) {
  if (blocks_.empty()) blocks_.emplace_back();
  std::size_t at = find_block(entry);
  if (blocks_[at].size == Block::kCapacity) {
    constexpr int kHalf = Block::kCapacity / 2;
    Block upper;
    std::copy(blocks_[at].entries + kHalf, blocks_[at].entries + Block::kCapacity, upper.entries);
    upper.size = Block::kCapacity - kHalf;
    measure(upper);
    blocks_[at].size = kHalf;
    measure(blocks_[at]);
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at) + 1, upper);
    if (upper.entries[0] < entry) ++at;
  }
  Block& block = blocks_[at];
  Entry* place = block.entries + find_in(block, entry);
  std::copy_backward(place, block.entries + block.size, block.entries + block.size + 1);
  *place = entry;
  ++block.size;
  measure(block);
}

void ServerBucket::erase(const Entry& entry) {
  const std::size_t at = find_block(entry);
  Block& block = blocks_[at];
  Entry* place = block.entries + find_in(block, entry);
  std::copy(place + 1, block.entries + block.size, place);
  if (--block.size > 0) {
    measure(block);
  } else {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

}  // namespace gpusched
