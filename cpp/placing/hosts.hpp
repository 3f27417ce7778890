#pragma once

#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "model/demand.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// What is asked of one server: some workers, all of them on it.
struct Ask {
  TypeMask types;
  int workers;  ///< 0: a task without GPUs, one worker for CPU and memory
  /// Whether the server must have just so many GPUs, all of them free: a whole server's worth of a
  /// gang that spans several.
  bool is_whole;
  Demand demand;
  int gang;  ///< what tells gangs of different widths apart where that matters

  friend bool operator==(const Ask&, const Ask&) = default;
};

/// Whether the server has the GPUs, wholly free or a part of one, whatever else it has.
[[nodiscard]] bool has_gpus(const Occupancy& free, ServerId server, const Ask& ask) noexcept;
/// Whether the server could take them now.
[[nodiscard]] bool can_host(const Occupancy& free, ServerId server, const Ask& ask) noexcept;

/// The server of least score, the lowest one of equals, where none with so many free GPUs scores
/// less than `bound(level)`, which grows with the level: -1 if there is none.
template <class Bound, class Score>
ServerId least_host(const Occupancy& free, const Ask& ask, Bound bound, Score score) {
  ServerId best = -1;
  double least = kInfinity;
  const auto look = [&](ServerId server) {
    if (!can_host(free, server, ask)) return;
    const double own = score(server);
    if (own < least || (own == least && server < best)) {
      least = own;
      best = server;
    }
  };
  if (ask.demand.is_share()) free.for_each_shared_only(ask.types, look);
  for (int level = free.least_level(ask.types, ask.workers); level > 0;
       level = free.least_level(ask.types, level + 1)) {
    const double no_less = bound(level);
    if (no_less > least) break;
    for (ServerId server = free.next_server(ask.types, level, -1); server >= 0;
         server = free.next_server(ask.types, level, server)) {
      if (no_less == least && server > best) break;
      look(server);
    }
  }
  return best;
}

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

}  // namespace gpusched
