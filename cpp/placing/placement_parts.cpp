#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

/// The best fit for what whole servers leave over: a partly used server if one holds it, else
/// the smallest wholly free one. Those of `size` up to `last_whole` are taken.
ServerId server_for_remainder(const Occupancy& free, TypeMask types, int rest, int size,
                              ServerId last_whole) {
  ServerId wholly_free = -1;
  for (int level = free.least_level(types, rest); level > 0;
       level = free.least_level(types, level + 1)) {
    ServerId server = free.next_server(types, level, level == size ? last_whole : -1);
    if (wholly_free < 0) wholly_free = server;
    if (level == size) break;  // the largest servers: all wholly free
    while (server >= 0 && free.cluster().gpus(server) == level) {
      server = free.next_server(types, level, server);
    }
    if (server >= 0) return server;
  }
  return wholly_free;
}

}  // namespace

[[gnu::flatten]] bool place_consolidated(const Occupancy& free, const Request& request,
                                         Allocation& out) {
  const TypeMask types = request.types;
  const int size = free.cluster().largest_server(types);
  out.reset(request.gpus);
  if (request.gpus <= size) return take_best_fit(free, types, request.gpus, out);
  const int num_whole = request.gpus / size;
  const int rest = request.gpus % size;
  if (free.num_servers_at(types, size) < num_whole) return false;
  ServerId server = -1;
  for (int i = 0; i < num_whole; ++i) {
    server = free.next_server(types, size, server);
    out.pieces.push_back(free.lowest_free(server, size));
  }
  if (rest > 0) {
    const ServerId last = server_for_remainder(free, types, rest, size, server);
    if (last < 0) return false;
    out.pieces.push_back(free.lowest_free(last, rest));
    sort_by_server(out);
  }
  return true;
}

std::int64_t widest_consolidated(const Occupancy& free, TypeMask types) {
  const int size = free.cluster().largest_server(types);
  const int greatest = free.greatest_level(types);
  if (greatest < size) return greatest;
  return free.num_servers_at(types, size) * size + free.level_below(types, size);
}

}  // namespace gpusched
