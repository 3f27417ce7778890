#include "listing/gained_servers.hpp"

#include <algorithm>

namespace gpusched {
namespace {

/// With more changes than this it is as well to ask the placement.
constexpr std::uint64_t kManyChanges = 64;

}  // namespace

void GainedServers::collect(const Occupancy& free) {
  const ChangeLog& changes = free.changes();
  const std::uint64_t num_changes = changes.num_changes() - seen_;
  are_too_many_ = num_changes > kManyChanges;  // the log keeps as many
  servers_.clear();
  if (are_too_many_) return;
  for (std::uint64_t at = seen_; at < changes.num_changes(); ++at) {
    if (changes.is_last(at)) servers_.push_back(changes.server(at));
  }
}

ClassTree::Most GainedServers::most(const Occupancy& free, std::int64_t room) const noexcept {
  if (are_too_many_) return {room};
  ClassTree::Most most{room, 0, 0};
  for (const ServerId server : servers_) {
    most.cpu_milli = std::max(most.cpu_milli, free.free_cpu_milli(server));
    most.memory_mib = std::max(most.memory_mib, free.free_memory_mib(server));
  }
  return most;
}

bool GainedServers::can_host(const Occupancy& free, const Ask& ask) const noexcept {
  return are_too_many_ || std::any_of(servers_.begin(), servers_.end(), [&](ServerId server) {
           return gpusched::can_host(free, server, ask);
         });
}

}  // namespace gpusched
