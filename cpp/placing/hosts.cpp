#include "placing/hosts.hpp"

#include <algorithm>
#include <bit>

namespace gpusched {
namespace {

bool has_part(const Occupancy& free, ServerId server, int share_milli) noexcept {
  for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
    if (free.free_milli(server, std::countr_zero(rest)) >= share_milli) return true;
  }
  return false;
}

}  // namespace

bool has_gpus(const Occupancy& free, ServerId server, const Ask& ask) noexcept {
  const Cluster& cluster = free.cluster();
  if ((ask.types >> cluster.type(server) & 1) == 0) return false;
  if (ask.demand.is_share()) {
    return free.free_gpus(server) > 0 || has_part(free, server, ask.demand.share_milli);
  }
  return free.free_gpus(server) >= ask.workers &&
         (!ask.is_whole || cluster.gpus(server) == ask.workers);
}

bool can_host(const Occupancy& free, ServerId server, const Ask& ask) noexcept {
  return has_gpus(free, server, ask) &&
         (!free.has_demands() || free.has_room(server, ask.demand, std::max(1, ask.workers)));
}

}  // namespace gpusched
