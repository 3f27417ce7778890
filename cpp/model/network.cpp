#include "model/network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// Copies a column of bandwidths; NaN means "not stated".
std::vector<double> bandwidths(const char* column, std::span<const double> values,
                               std::size_t size) {
  if (values.empty()) return std::vector<double>(size, kUnknown);
  if (values.size() != size) {
    fail_input(std::string(column) + ": length " + std::to_string(values.size()) +
               " differs from the expected " + std::to_string(size));
  }
  for (std::size_t row = 0; row < size; ++row) {
    if (std::isnan(values[row]) || (values[row] > 0 && std::isfinite(values[row]))) continue;
    fail_input(std::string(column) + ": row " + std::to_string(row) + " is " +
               std::to_string(values[row]) + "; it must be positive and finite (bytes per second)");
  }
  return {values.begin(), values.end()};
}

}  // namespace

Network::Network(std::span<const std::int32_t> server_gpus, const NetworkColumns& columns)
    : bandwidth_(bandwidths("nic_bytes_per_s", columns.nic_bytes_per_s, server_gpus.size())),
      intra_(bandwidths("intra_bytes_per_s", columns.intra_bytes_per_s, server_gpus.size())),
      gpus_behind_(server_gpus.begin(), server_gpus.end()),
      server_domain_(columns.server_domain.begin(), columns.server_domain.end()),
      domain_parent_(columns.domain_parent.begin(), columns.domain_parent.end()) {
  if (!domain_parent_.empty() || !server_domain_.empty()) read_tree(columns);
}

void Network::read_tree(const NetworkColumns& columns) {
  const std::size_t num_servers = bandwidth_.size();
  const std::size_t num_domains = domain_parent_.size();
  if (server_domain_.size() != num_servers) {
    fail_input("server_domain: length " + std::to_string(server_domain_.size()) +
               " differs from server_gpus: " + std::to_string(num_servers));
  }
  std::vector<double> above(columns.uplink_bytes_per_s.begin(), columns.uplink_bytes_per_s.end());
  for (std::size_t domain = 0; domain < std::min(num_domains, above.size()); ++domain) {
    if (domain_parent_[domain] == -1) above[domain] = kUnknown;  // the root has nothing above it
  }
  const auto uplinks = bandwidths("uplink_bytes_per_s", above, num_domains);

  std::int32_t root = -1;
  for (std::size_t domain = 0; domain < num_domains; ++domain) {
    const std::int32_t parent = domain_parent_[domain];
    const std::string row = "domain_parent: row " + std::to_string(domain);
    if (parent < -1 || parent >= static_cast<std::int32_t>(num_domains)) {
      fail_input(row + " is " + std::to_string(parent) +
                 "; it must be a domain, or -1 for the root");
    }
    if (parent >= 0) {
      if (std::isnan(uplinks[domain])) {
        fail_input("uplink_bytes_per_s: row " + std::to_string(domain) +
                   " is missing; every domain but the root has an uplink");
      }
      continue;
    }
    if (root >= 0) {
      fail_input(row + " is a second root; the first is row " + std::to_string(root) +
                 "; one tree must connect all servers");
    }
    root = static_cast<std::int32_t>(domain);
  }
  for (std::size_t domain = 0; domain < num_domains; ++domain) {
    auto next = static_cast<std::int32_t>(domain);
    for (std::size_t steps = 0; next >= 0; ++steps) {
      if (steps > num_domains) {
        fail_input("domain_parent: row " + std::to_string(domain) +
                   " never reaches a root; the parents form a cycle");
      }
      next = domain_parent_[static_cast<std::size_t>(next)];
    }
  }

  bandwidth_.insert(bandwidth_.end(), uplinks.begin(), uplinks.end());
  gpus_behind_.resize(bandwidth_.size());
  for (std::size_t server = 0; server < num_servers; ++server) {
    std::int32_t domain = server_domain_[server];
    if (domain < 0 || domain >= static_cast<std::int32_t>(num_domains)) {
      fail_input("server_domain: row " + std::to_string(server) + " is " + std::to_string(domain) +
                 "; unknown domain");
    }
    for (; domain >= 0; domain = domain_parent_[static_cast<std::size_t>(domain)]) {
      gpus_behind_[num_servers + static_cast<std::size_t>(domain)] += gpus_behind_[server];
    }
  }
}

void RingLinks::find(std::span<const Piece> pieces, int gpus, std::vector<Crossing>& out) {
  out.clear();
  if (pieces.size() < 2) return;
  for (const Piece& piece : pieces) out.push_back({piece.server, piece.gpus});
  if (inside_.empty()) return;

  touched_.clear();
  for (const Piece& piece : pieces) {
    for (std::int32_t domain = network_.domain(piece.server); domain >= 0;
         domain = network_.parent(domain)) {
      std::int32_t& inside = inside_[static_cast<std::size_t>(domain)];
      if (inside == 0) touched_.push_back(domain);
      inside += piece.gpus;
    }
  }
  std::sort(touched_.begin(), touched_.end());
  const auto num_servers = network_.num_links() - network_.num_domains();
  for (const std::int32_t domain : touched_) {
    std::int32_t& inside = inside_[static_cast<std::size_t>(domain)];
    if (inside < gpus) out.push_back({num_servers + domain, inside});
    inside = 0;
  }
}

}  // namespace gpusched
