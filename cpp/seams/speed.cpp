#include "seams/speed.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/check.hpp"
#include "base/infinity.hpp"

namespace gpusched {

void reserved_shares(const Network& network, std::span<const Crossing> crossings,
                     std::vector<LinkShare>& out) {
  out.clear();
  for (const Crossing& crossing : crossings) {
    const double fraction = static_cast<double>(crossing.gpus) /
                            static_cast<double>(network.gpus_behind(crossing.link));
    out.push_back({crossing.link, crossing.gpus, network.bandwidth(crossing.link) * fraction});
  }
}

double least_reserved_bandwidth(const Cluster& cluster, TypeMask types) {
  const Network& network = cluster.network();
  double least = kInfinity;
  const auto consider = [&](LinkId link) {
    least =
        std::min(least, network.bandwidth(link) / static_cast<double>(network.gpus_behind(link)));
  };
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    if ((types >> cluster.type(server) & 1) == 0) continue;
    least = std::min(least, network.intra(server));
    consider(server);
    for (std::int32_t domain = network.domain(server); domain >= 0 && network.parent(domain) >= 0;
         domain = network.parent(domain)) {
      consider(cluster.num_servers() + domain);
    }
  }
  return least;
}

void require_bandwidths(const char* speed, const Cluster& cluster) {
  const Network& network = cluster.network();
  for (ServerId server = 0; server < cluster.num_servers(); ++server) {
    const char* missing = std::isnan(network.bandwidth(server)) ? "nic_gbps"
                          : std::isnan(network.intra(server))   ? "intra_gbps"
                                                                : nullptr;
    if (missing == nullptr) continue;
    fail_input("speed " + std::string(speed) + ": " + missing + " of server " +
               std::to_string(server) + " is missing; every server needs a bandwidth");
  }
}

}  // namespace gpusched
