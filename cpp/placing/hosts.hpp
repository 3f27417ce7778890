#pragma once

#include <algorithm>
#include <cstdint>

#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "model/demand.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// A request to one server: some workers, all of them on it.
struct Ask {
  TypeMask types;
  int workers;  ///< 0: a task without GPUs, one worker for CPU and memory
  /// Whether the server must have exactly this many GPUs, all free: a whole server's worth of a
  /// multi-server job.
  bool is_whole;
  Demand demand;
  int gang;  ///< distinguishes jobs of different widths if that matters

  /// The total of all workers.
  [[nodiscard]] std::int64_t cpu_milli() const noexcept {
    return demand.cpu_milli * std::max(1, workers);
  }
  [[nodiscard]] std::int64_t memory_mib() const noexcept {
    return demand.memory_mib * std::max(1, workers);
  }

  friend bool operator==(const Ask&, const Ask&) = default;
};

/// Whether the server has the GPUs, wholly free or a part of one, whatever else it has.
[[nodiscard]] bool has_gpus(const Occupancy& free, ServerId server, const Ask& ask) noexcept;
/// Whether the server could take them now.
[[nodiscard]] bool can_host(const Occupancy& free, ServerId server, const Ask& ask) noexcept;

/// The server of least score among those that were offered, the lowest one of equals.
struct LeastHost {
  double score = kInfinity;
  ServerId server = -1;  ///< -1: none had a score

  [[nodiscard]] bool is_above(double other, ServerId id) const noexcept {
    return other < score || (other == score && id < server);
  }
  void offer(double other, ServerId id) noexcept {
    if (!is_above(other, id)) return;
    score = other;
    server = id;
  }
};

/// Visits the servers that can host the ask, in no order.
template <class Visit>
void for_each_host(const Occupancy& free, const Ask& ask, Visit visit) {
  const auto look = [&](ServerId server) {
    if (can_host(free, server, ask)) visit(server);
  };
  if (ask.workers == 0) {
    for (ServerId server = 0; server < free.cluster().num_servers(); ++server) look(server);
    return;
  }
  const bool has_demands = free.has_demands();
  free.for_each_server(ask.types, ask.workers, [&](ServerId server) {
    if (has_demands && !free.has_room(server, ask.demand, ask.workers)) return;
    if (!ask.is_whole || free.cluster().gpus(server) == ask.workers) visit(server);
  });
  if (ask.demand.is_share()) free.for_each_shared_only(ask.types, look);
}

/// The server of least score that can host the ask; -1 if there is none.
template <class Score>
ServerId least_host(const Occupancy& free, const Ask& ask, Score score) {
  LeastHost best;
  for_each_host(free, ask, [&](ServerId server) { best.offer(score(server), server); });
  return best.server;
}

/// The same if no server with this many free GPUs scores below `bound(level)`, which grows with the
/// level.
template <class Bound, class Score>
ServerId least_host(const Occupancy& free, const Ask& ask, Bound bound, Score score) {
  LeastHost best;
  const auto look = [&](ServerId server) {
    if (can_host(free, server, ask)) best.offer(score(server), server);
  };
  if (ask.demand.is_share()) free.for_each_shared_only(ask.types, look);
  for (int level = free.least_level(ask.types, ask.workers); level > 0;
       level = free.least_level(ask.types, level + 1)) {
    const double no_less = bound(level);
    if (no_less > best.score) break;
    for (ServerId server = free.next_server(ask.types, level, -1); server >= 0;
         server = free.next_server(ask.types, level, server)) {
      if (no_less == best.score && server > best.server) break;
      look(server);
    }
  }
  return best.server;
}

}  // namespace gpusched
