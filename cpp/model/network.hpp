#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "model/allocation.hpp"

namespace gpusched {

/// Position of a link: the NIC of server s is link s, the uplink of domain d follows the servers.
using LinkId = std::int32_t;

/// Bandwidths in bytes per second, and the tree above the servers. Each column may be empty:
/// unknown bandwidths, or servers on one non-blocking switch.
struct NetworkColumns {
  std::span<const double> nic_bytes_per_s;
  std::span<const double> intra_bytes_per_s;
  /// Domain of each server.
  std::span<const std::int32_t> server_domain;
  /// Parent of each domain; -1 for the root.
  std::span<const std::int32_t> domain_parent;
  /// Bandwidth of each domain's link to its parent; the root's is not read.
  std::span<const double> uplink_bytes_per_s;
};

/// A link that a ring uses, and how many of the ring's GPUs are behind it.
struct Crossing {
  LinkId link;
  std::int32_t gpus;
};

/// The links between the servers of a cluster.
class Network {
 public:
  Network() = default;
  /// Copies the columns; throws InvalidInput that names the row and the field.
  Network(std::span<const std::int32_t> server_gpus, const NetworkColumns& columns);

  /// NICs and uplinks, the root's among them.
  [[nodiscard]] LinkId num_links() const noexcept { return static_cast<LinkId>(bandwidth_.size()); }
  /// Bytes per second; NaN where it was not stated.
  [[nodiscard]] double bandwidth(LinkId link) const noexcept {
    return bandwidth_[static_cast<std::size_t>(link)];
  }
  /// Between the GPUs of one server, bytes per second; NaN where it was not stated.
  [[nodiscard]] double intra(ServerId server) const noexcept {
    return intra_[static_cast<std::size_t>(server)];
  }
  /// All GPUs behind the link.
  [[nodiscard]] std::int64_t gpus_behind(LinkId link) const noexcept {
    return gpus_behind_[static_cast<std::size_t>(link)];
  }
  /// The innermost domain of the server; -1 if the network has none.
  [[nodiscard]] std::int32_t domain(ServerId server) const noexcept {
    return server_domain_.empty() ? -1 : server_domain_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] std::int32_t parent(std::int32_t domain) const noexcept {
    return domain_parent_[static_cast<std::size_t>(domain)];
  }
  [[nodiscard]] std::int32_t num_domains() const noexcept {
    return static_cast<std::int32_t>(domain_parent_.size());
  }

 private:
  void read_tree(const NetworkColumns& columns);

  std::vector<double> bandwidth_;
  std::vector<double> intra_;
  std::vector<std::int64_t> gpus_behind_;
  std::vector<std::int32_t> server_domain_;
  std::vector<std::int32_t> domain_parent_;
};

/// Finds the links of a multi-server job: the NIC of each of its servers, then, ascending, the
/// uplink of each domain that holds some of its GPUs but not all. None for a job on one server.
class RingLinks {
 public:
  explicit RingLinks(const Network& network)
      : network_(network), inside_(static_cast<std::size_t>(network.num_domains())) {}

  void find(std::span<const Piece> pieces, int gpus, std::vector<Crossing>& out);

 private:
  const Network& network_;
  std::vector<std::int32_t> inside_;  // the ring's GPUs in each domain, zero between calls
  std::vector<std::int32_t> touched_;
};

}  // namespace gpusched
