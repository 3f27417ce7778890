#include "placing/packing_index.hpp"

#include "base/wrapping.hpp"

namespace gpusched {
namespace {

/// Maximum number of cached scores; beyond it, each request is computed again.
constexpr std::size_t kMaxScores = std::size_t{1} << 22;
constexpr std::size_t kNumAsked = 4096;

GPUSCHED_WRAPS_AROUND std::uint64_t hash_of(const Ask& ask, bool is_own) noexcept {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  const Demand& demand = ask.demand;
  std::uint64_t x = static_cast<std::uint64_t>(demand.cpu_milli);
  x = x * kOdd + static_cast<std::uint64_t>(demand.memory_mib);
  x = x * kOdd +
      (static_cast<std::uint64_t>(demand.share_milli) << 32 | static_cast<std::uint32_t>(ask.gang));
  x = x * kOdd + ask.types;
  x = x * kOdd + (static_cast<std::uint64_t>(ask.workers) << 2 |
                  static_cast<std::uint64_t>(ask.is_whole) << 1 |
                  static_cast<std::uint64_t>(is_own));
  x *= kOdd;
  return x >> 32;
}

std::int64_t num_servers_to_look_at(const Occupancy& free, const Ask& ask) noexcept {
  if (ask.workers == 0) return free.cluster().num_servers();
  std::int64_t sum = ask.demand.is_share() ? free.num_shared_only() : 0;
  for (int level = free.least_level(ask.types, ask.workers); level > 0;
       level = free.least_level(ask.types, level + 1)) {
    sum += free.num_servers_at(ask.types, level);
  }
  return sum;
}

}  // namespace

std::size_t LeastScore::num_values(ServerId num_servers) noexcept {
  std::size_t sum = 1;
  for (auto size = static_cast<std::size_t>(num_servers); size > 1;) {
    size = (size + kFanout - 1) / kFanout;
    sum += size * kFanout;
  }
  return sum;
}

void LeastScore::reset(ServerId num_servers) {
  num_servers_ = static_cast<std::size_t>(num_servers);
  values_.assign(num_values(num_servers), kNever);
  begins_.clear();
  std::size_t begin = 0;
  for (std::size_t size = num_servers_; size > 1;) {
    begins_.push_back(begin);
    size = (size + kFanout - 1) / kFanout;
    begin += size * kFanout;
  }
  begins_.push_back(begin);
}

void LeastScore::finish() noexcept {
  for (std::size_t level = 1; level < begins_.size(); ++level) {
    const std::size_t num_blocks = (begins_[level] - begins_[level - 1]) / kFanout;
    for (std::size_t block = 0; block < num_blocks; ++block) {
      values_[begins_[level] + block] = least_of_block(level - 1, block);
    }
  }
}

void PackingIndex::begin(std::uint64_t own) {
  own_ = own;
  entries_.clear();
  buckets_.assign(64, 0);
  asked_.assign(kNumAsked, {});
}

std::size_t PackingIndex::find_bucket(const Ask& ask, bool is_own,
                                      std::uint64_t hash) const noexcept {
  std::size_t bucket = static_cast<std::size_t>(hash) & (buckets_.size() - 1);
  while (buckets_[bucket] != 0) {
    const Entry& entry = *entries_[buckets_[bucket] - 1];
    if (entry.ask == ask && entry.is_own == is_own) break;
    bucket = (bucket + 1) & (buckets_.size() - 1);
  }
  return bucket;
}

bool PackingIndex::pays(const Occupancy& free, const Ask& ask, bool is_costly) {
  if (buckets_.empty()) begin(0);
  const ChangeLog& changes = free.changes();
  const bool is_own = changes.history() == own_;
  const std::uint64_t hash = hash_of(ask, is_own);
  // A change costs about as much to catch up with as a server to look at. But a server that has
  // changed seldom has room: where scores are what costs, more changes are caught up with.
  const auto num_looks = static_cast<std::uint64_t>(is_costly ? free.cluster().num_servers()
                                                              : num_servers_to_look_at(free, ask));
  Asked& asked = asked_[static_cast<std::size_t>(hash) & (kNumAsked - 1)];
  // A position from a longer history is ahead of this one, and not recent.
  const bool is_recent = asked.hash == hash && asked.at <= changes.num_changes() &&
                         changes.num_changes() - asked.at <= num_looks / 2;
  asked = {hash, changes.num_changes()};
  if (is_recent) return true;
  const std::size_t bucket = find_bucket(ask, is_own, hash);
  if (buckets_[bucket] == 0) return false;
  const Entry& entry = *entries_[buckets_[bucket] - 1];
  return entry.history == changes.history() && changes.num_changes() - entry.seen <= num_looks;
}

PackingIndex::Entry& PackingIndex::entry_of(const Ask& ask, const Occupancy& free) {
  const bool is_own = free.changes().history() == own_;
  const std::uint64_t hash = hash_of(ask, is_own);
  if (buckets_.empty()) begin(0);
  const std::size_t bucket = find_bucket(ask, is_own, hash);
  if (buckets_[bucket] != 0) return *entries_[buckets_[bucket] - 1];

  const std::size_t size = LeastScore::num_values(free.cluster().num_servers());
  if ((entries_.size() + 1) * size > std::max(kMaxScores, 8 * size)) begin(own_);
  entries_.push_back(std::make_unique<Entry>(Entry{ask, is_own, 0, 0, {}}));
  if (2 * entries_.size() > buckets_.size()) {
    buckets_.assign(2 * buckets_.size(), 0);
    for (std::size_t i = 0; i + 1 < entries_.size(); ++i) {
      const Entry& entry = *entries_[i];
      const std::uint64_t own_hash = hash_of(entry.ask, entry.is_own);
      buckets_[find_bucket(entry.ask, entry.is_own, own_hash)] = static_cast<std::uint32_t>(i + 1);
    }
  }
  buckets_[find_bucket(ask, is_own, hash)] = static_cast<std::uint32_t>(entries_.size());
  return *entries_.back();
}

}  // namespace gpusched
