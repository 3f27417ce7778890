#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.hpp"
#include "placing/bucket_key.hpp"
#include "placing/hosts.hpp"
#include "placing/server_bucket.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// Servers in buckets by their free GPUs, for a search for the lowest score: a bucket is skipped if
/// its best possible score is not below the best found. A server is moved only if it has changed.
class ServerBuckets {
 public:
  /// Follows the occupancy with that history, and no copy of it; none if it is 0.
  void begin(std::uint64_t history) {
    history_ = history;
    is_filled_ = false;
  }
  [[nodiscard]] bool follow(const Occupancy& free) const noexcept {
    return free.changes().is_kept() && free.changes().history() == history_;
  }

  /// Brings the buckets up to date.
  template <class Rule>
  void refresh(const Occupancy& free, const Rule& rule) {
    const ChangeLog& changes = free.changes();
    const auto renew = [&](ServerId server) {
      describe(free, server, Rule::kLikeness, key_);
      move(free, server, rule.standing(free, server));
    };
    if (!is_filled_ || changes.num_changes() - seen_ > changes.num_kept() || has_many_empty()) {
      clear(free.cluster().num_servers());
      for (ServerId server = 0; server < free.cluster().num_servers(); ++server) renew(server);
    } else {
      for (std::uint64_t at = seen_; at < changes.num_changes(); ++at) {
        if (changes.is_last(at)) renew(changes.server(at));
      }
    }
    seen_ = changes.num_changes();
  }

  /// Visits the servers that can host the ask, in no order.
  template <class Visit>
  void for_each_host(const Occupancy& free, const Ask& ask, Visit visit) const {
    const std::int64_t cpu = ask.cpu_milli();
    const std::int64_t memory = ask.memory_mib();
    for_each_bucket(free, ask, [&](const ServerBucket& bucket, ServerId) {
      for (const ServerBucket::Block& block : bucket.blocks()) {
        if (!block.may_have_room(cpu, memory)) continue;
        for (int i = 0; i < block.size; ++i) {
          if (block.entries[i].has_room(cpu, memory)) visit(block.entries[i].server);
        }
      }
    });
  }

  /// The server of least score that can host the ask, the lowest one of equals; -1 if there is none.
  template <class Rule>
  [[nodiscard]] ServerId find(const Occupancy& free, const Ask& ask, const Rule& rule) const {
    const std::int64_t cpu = ask.cpu_milli();
    const std::int64_t memory = ask.memory_mib();
    LeastHost best;
    if constexpr (Rule::kStandsByScore) {
      for_each_bucket(free, ask, [&](const ServerBucket& bucket, ServerId first) {
        if (!best.is_above(rule.score(free, first, ask), first)) return;
        const ServerId server = bucket.first_with_room(cpu, memory);
        if (server >= 0) best.offer(rule.score(free, server, ask), server);
      });
    } else {
      typename Rule::Scorer scorer(rule, free, ask);
      for_each_bucket(free, ask, [&](const ServerBucket& bucket, ServerId first) {
        scorer.enter(first);
        for (const ServerBucket::Block& block : bucket.blocks()) {
          if (!block.may_have_room(cpu, memory)) continue;
          const double least = scorer.least(block.range);
          if (!best.is_above(least, block.range.lowest)) continue;
          for (int i = 0; i < block.size; ++i) {
            const ServerBucket::Entry& entry = block.entries[i];
            if (!entry.has_room(cpu, memory) || !best.is_above(least, entry.server)) continue;
            best.offer(scorer.score(entry), entry.server);
          }
        }
      });
    }
    return best.server;
  }

  /// Both for a server that shall not be found for now.
  void take_down(ServerId server);
  void put_back(ServerId server);

 private:
  struct KnownShelf {
    ServerBucket bucket;
    std::size_t place = 0;  // among those in use
  };
  struct Spot {
    std::uint32_t bucket;
    ServerBucket::Entry entry;
  };
  /// Visits the buckets of servers that have the GPUs, each with its first server.
  template <class Visit>
  void for_each_bucket(const Occupancy& free, const Ask& ask, Visit visit) const {
    for (const std::uint32_t id : in_use_) {
      const ServerBucket& bucket = buckets_[id].bucket;
      const ServerId first = bucket.first().server;
      if (has_gpus(free, first, ask)) visit(bucket, first);
    }
  }

  static constexpr std::uint32_t kNowhere = ~std::uint32_t{0};

  void clear(ServerId num_servers);
  /// ServerBuckets are kept when they are empty, until they are more than there are servers.
  [[nodiscard]] bool has_many_empty() const noexcept {
    return buckets_.size() > in_use_.size() + spots_.size() + 64;
  }
  /// To the bucket of `key_`.
  void move(const Occupancy& free, ServerId server, double standing);

  std::uint64_t history_ = 0;
  std::uint64_t seen_ = 0;
  bool is_filled_ = false;
  std::map<BucketKey, std::uint32_t> known_;
  std::vector<KnownShelf> buckets_;
  std::vector<std::uint32_t> in_use_;
  std::vector<Spot> spots_;  // of each server
  BucketKey key_;
};

}  // namespace gpusched
