#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "placing/hosts.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// The server of least score, the lowest one of equals: minima over blocks of servers, over blocks
/// of those, and so on.
class LeastScore {
 public:
  static constexpr double kNever = kInfinity;

  void reset(ServerId num_servers);

  [[nodiscard]] double score(ServerId server) const noexcept {
    return values_[static_cast<std::size_t>(server)];
  }
  void set(ServerId server, double score) noexcept {
    auto at = static_cast<std::size_t>(server);
    double before = values_[at];
    values_[at] = score;
    for (std::size_t level = 1; level < begins_.size(); ++level) {
      const std::size_t block = at / kFanout;
      double& least = values_[begins_[level] + block];
      if (score > least && before > least) return;
      before = least;
      least = score <= least ? score : least_of_block(level - 1, block);
      if (least == before) return;
      score = least;
      at = block;
    }
  }
  /// Writes one score of many; `finish` makes them count.
  void write(ServerId server, double score) noexcept {
    values_[static_cast<std::size_t>(server)] = score;
  }
  void finish() noexcept;

  /// -1 where no server has a score.
  [[nodiscard]] ServerId best() const noexcept {
    const double least = values_.back();
    if (least == kNever) return -1;
    std::size_t at = 0;
    for (std::size_t level = begins_.size() - 1; level > 0;) {
      --level;
      at *= kFanout;
      while (values_[begins_[level] + at] != least) ++at;
    }
    return static_cast<ServerId>(at);
  }
  /// Number of cached values for this many servers.
  static std::size_t num_values(ServerId num_servers) noexcept;

 private:
  static constexpr std::size_t kFanout = 16;

  [[nodiscard]] double least_of_block(std::size_t level, std::size_t block) const noexcept {
    const double* first = values_.data() + begins_[level] + block * kFanout;
    return *std::min_element(first, first + kFanout);
  }

  std::size_t num_servers_ = 0;
  // The scores, then the minima of their blocks, ..., last the overall minimum. Each level but the
  // last is filled up to whole blocks.
  std::vector<double> values_;
  std::vector<std::size_t> begins_;
};

/// Caches the scores of all servers for each request. A server is rescored only if it has changed
/// since the last identical request.
class PackingIndex {
 public:
  /// Forgets everything. `own` is the history of the run's occupancy; all others are copies that
  /// a scheduler plans on, and are kept apart from it.
  void begin(std::uint64_t own);

  /// The scores of the servers for `ask`; calls `score(server)` for those that can host it. Valid
  /// until the next call.
  template <class Score>
  LeastScore& find(const Occupancy& free, const Ask& ask, Score score) {
    return refresh(entry_of(ask, free), free, ask, score);
  }

  /// Whether scores pay: the same request came a moment ago and is likely to come again. Otherwise
  /// one look at the servers with the GPUs is cheaper. `is_costly`: a score takes much longer than
  /// checking whether a server can host the ask.
  [[nodiscard]] bool pays(const Occupancy& free, const Ask& ask, bool is_costly);

 private:
  struct Entry {
    Ask ask;
    bool is_own;
    std::uint64_t history;
    std::uint64_t seen;
    LeastScore scores;
  };
  /// Recent requests, by hash: on a collision, scores are cached too late or too soon.
  struct Asked {
    std::uint64_t hash;
    std::uint64_t at;  // changes by then
  };

  template <class Score>
  static LeastScore& refresh(Entry& entry, const Occupancy& free, const Ask& ask, Score score) {
    const ChangeLog& changes = free.changes();
    const auto score_of = [&](ServerId server) {
      return can_host(free, server, ask) ? score(server) : LeastScore::kNever;
    };
    // Changes of another history are counted from elsewhere.
    const bool is_known = entry.history == changes.history() && changes.is_kept();
    const std::uint64_t num_behind = is_known ? changes.num_changes() - entry.seen : 0;
    const ServerId num_servers = free.cluster().num_servers();
    if (!is_known ||
        num_behind >
            std::min<std::uint64_t>(changes.num_kept(), static_cast<std::uint64_t>(num_servers))) {
      entry.scores.reset(num_servers);
      for (ServerId server = 0; server < num_servers; ++server) {
        entry.scores.write(server, score_of(server));
      }
      entry.scores.finish();
    } else {
      for (std::uint64_t at = entry.seen; at < changes.num_changes(); ++at) {
        const ServerId server = changes.server(at);
        if (!changes.is_last(at)) continue;
        if ((ask.types >> free.cluster().type(server) & 1) == 0) continue;
        entry.scores.set(server, score_of(server));
      }
    }
    entry.history = changes.history();
    entry.seen = changes.num_changes();
    return entry.scores;
  }

  Entry& entry_of(const Ask& ask, const Occupancy& free);
  /// The bucket of the entry, or the empty one where it would go.
  [[nodiscard]] std::size_t find_bucket(const Ask& ask, bool is_own,
                                        std::uint64_t hash) const noexcept;

  std::uint64_t own_ = 0;
  std::vector<Boxed<Entry>> entries_;
  std::vector<std::uint32_t> buckets_;  // 1 + position in the entries; 0: empty
  std::vector<Asked> asked_;
};

}  // namespace gpusched
