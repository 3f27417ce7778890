#include "gangs/free_servers.hpp"

#include <bit>
#include <utility>

namespace gpusched {
namespace {

template <class Visit>
void for_each_type(TypeMask types, Visit visit) {
  for (; types != 0; types &= types - 1) visit(static_cast<std::size_t>(std::countr_zero(types)));
}

}  // namespace

void FreeServers::begin(const Cluster& cluster) {
  const auto num_types = static_cast<std::size_t>(cluster.num_types());
  servers_.assign(num_types, IndexSet(static_cast<std::size_t>(cluster.num_servers())));
  gpus_.assign(num_types, 0);
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    const auto type = static_cast<std::size_t>(cluster.type(server));
    servers_[type].insert(static_cast<std::size_t>(server));
    gpus_[type] += cluster.gpus(server);
  }
}

std::optional<ServerSet> FreeServers::take(const Cluster& cluster, const JobKind& kind) {
  const auto [allowed, gpus] = kind;
  const TypeMask all = allowed & cluster.all_types();
  bool has_fitting_type = false;
  for (TypeMask rest = all; rest != 0; rest &= rest - 1) {
    const TypeMask type = rest & ~(rest - 1);
    if (cluster.gpus_of(type) < gpus) continue;
    has_fitting_type = true;
    if (auto found = take_of(cluster, type, gpus)) return found;
  }
  return has_fitting_type ? std::nullopt : take_of(cluster, all, gpus);
}

std::optional<ServerSet> FreeServers::take_of(const Cluster& cluster, TypeMask types, int gpus) {
  std::int64_t free = 0;
  for_each_type(types, [&](std::size_t type) { free += gpus_[type]; });
  if (free < gpus) return std::nullopt;
  if (spare_.empty()) spare_.emplace_back();
  ServerSet found = std::move(spare_.back());
  spare_.pop_back();
  for (ServerId server = -1; found.gpus < gpus;) {
    server = next(types, server);
    if (cluster.gpus(server) >= gpus) found.clear();
    found.servers.push_back(server);
    found.gpus += cluster.gpus(server);
  }
  for (const ServerId server : found.servers) {
    const auto type = static_cast<std::size_t>(cluster.type(server));
    servers_[type].erase(static_cast<std::size_t>(server));
    gpus_[type] -= cluster.gpus(server);
  }
  return found;
}

ServerId FreeServers::next(TypeMask types, ServerId after) const noexcept {
  ServerId first = -1;
  for_each_type(types, [&](std::size_t type) {
    const ServerId server = servers_[type].next(after);
    if (server >= 0 && (first < 0 || server < first)) first = server;
  });
  return first;
}

void FreeServers::give_back(const Cluster& cluster, ServerSet set) {
  for (const ServerId server : set.servers) {
    const auto type = static_cast<std::size_t>(cluster.type(server));
    servers_[type].insert(static_cast<std::size_t>(server));
    gpus_[type] += cluster.gpus(server);
  }
  set.clear();
  spare_.push_back(std::move(set));
}

}  // namespace gpusched
