#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/registry.hpp"
#include "placing/packing_placement.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

/// The server with the least free capacity over all resources.
struct TightServer : PackingRule {
  void begin(const PlacementSetup& setup) { capacities = Capacities(setup.state.cluster()); }

  [[nodiscard]] double score(const Occupancy& free, ServerId server,
                             const Ask& /*ask*/) const noexcept {
    return capacities.room(free, server);
  }

  [[nodiscard]] double standing(const Occupancy& free, ServerId server) const noexcept {
    return capacities.room(free, server);
  }

  Capacities capacities;
};

/// The tree of domains (a single root if there is none), with the capacity of each domain. The
/// caller fills in `capacity` in its own unit: GPUs, or whole servers.
class DomainTree {
 public:
  void begin(const Cluster& cluster) {
    const Network& network = cluster.network();
    num_servers_ = cluster.num_servers();
    const std::int32_t num_domains = std::max(1, network.num_domains());
    const auto num_nodes = static_cast<std::size_t>(num_servers_ + num_domains);
    parent_.assign(num_nodes, -1);
    children_.assign(num_nodes, {});
    capacity_.assign(num_nodes, 0);
    for (std::int32_t node = 0; node < static_cast<std::int32_t>(num_nodes); ++node) {
      const bool is_server = node < num_servers_;
      const std::int32_t above = network.num_domains() == 0 ? (is_server ? 0 : -1)
                                 : is_server                ? network.domain(node)
                                                            : network.parent(node - num_servers_);
      if (above < 0) continue;
      parent_[index(node)] = above + num_servers_;
      children_[index(above + num_servers_)].push_back(node);
    }
    depth_.assign(num_nodes, 0);
    for (std::size_t node = 0; node < num_nodes; ++node) {
      for (std::int32_t at = parent_[node]; at >= 0; at = parent_[index(at)]) ++depth_[node];
    }
    deepest_first_.resize(static_cast<std::size_t>(num_domains));
    std::iota(deepest_first_.begin(), deepest_first_.end(), num_servers_);
    std::stable_sort(deepest_first_.begin(), deepest_first_.end(),
                     [&](std::int32_t a, std::int32_t b) { return depth(a) > depth(b); });
  }

  /// The capacity of each server, `count(server)`, and of the domains.
  template <class Count>
  void fill(Count count) {
    for (ServerId server = 0; server < num_servers_; ++server) {
      capacity_[index(server)] = count(server);
    }
    for (const std::int32_t domain : deepest_first_) {
      std::int64_t& sum = capacity_[index(domain)] = 0;
      for (const std::int32_t child : children_[index(domain)]) sum += capacity_[index(child)];
    }
  }

  /// The domains that could take so much, the smallest first: by depth, then by what they could
  /// take, then by id.
  [[nodiscard]] const std::vector<std::int32_t>& holding(std::int64_t need) {
    holding_.clear();
    for (const std::int32_t domain : deepest_first_) {
      if (capacity_[index(domain)] >= need) holding_.push_back(domain);
    }
    std::stable_sort(holding_.begin(), holding_.end(), [&](std::int32_t a, std::int32_t b) {
      return depth(a) != depth(b) ? depth(a) > depth(b) : capacity_[index(a)] < capacity_[index(b)];
    });
    return holding_;
  }

  /// Takes so much of a domain that could take it: all of the children that could take most, until
  /// one of the others holds the rest; then of the one that could take least of those, in the
  /// same way. `take(server, amount)` is called for each server.
  template <class Take>
  void descend(std::int32_t domain, std::int64_t need, Take take) {
    std::vector<std::int32_t> left = children_[index(domain)];
    while (need > 0) {
      std::int32_t tightest = -1;
      std::int32_t greatest = -1;
      for (const std::int32_t child : left) {  // servers first, then by id
        const std::int64_t own = capacity_[index(child)];
        if (own >= need && (tightest < 0 || own < capacity_[index(tightest)])) tightest = child;
        if (greatest < 0 || own > capacity_[index(greatest)]) greatest = child;
      }
      const std::int32_t chosen = tightest >= 0 ? tightest : greatest;
      const std::int64_t amount = std::min(need, capacity_[index(chosen)]);
      if (chosen < num_servers_) {
        take(chosen, amount);
      } else {
        descend(chosen, amount, take);
      }
      need -= amount;
      std::erase(left, chosen);
    }
  }

  [[nodiscard]] bool is_inside(ServerId server, std::int32_t domain) const noexcept {
    std::int32_t at = server;
    while (at >= 0 && at != domain) at = parent_[index(at)];
    return at == domain;
  }

 private:
  static std::size_t index(std::int32_t node) noexcept { return static_cast<std::size_t>(node); }
  [[nodiscard]] int depth(std::int32_t node) const noexcept { return depth_[index(node)]; }

  ServerId num_servers_ = 0;
  std::vector<std::int32_t> parent_;  // servers first, then domains
  std::vector<std::vector<std::int32_t>> children_;
  std::vector<int> depth_;
  std::vector<std::int32_t> deepest_first_;
  std::vector<std::int64_t> capacity_;
  std::vector<std::int32_t> holding_;
};

/// A job that one server holds goes where it fits best; a larger one goes to the smallest domain
/// that holds it, and there to as few parts of it as possible, down to the servers.
class Topology final : public DemandPlacement<TightServer> {
 public:
  void begin(const PlacementSetup& setup) override {
    DemandPlacement::begin(setup);
    tree_.begin(setup.state.cluster());
    capacities_ = Capacities(setup.state.cluster());
  }

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    if (!request.is_plain()) return place_demand(free, request, out);
    if (request.gpus > free.num_free(request.types)) return false;
    out.reset(request.gpus);
    if (take_best_fit(free, request.types, request.gpus, out)) return true;
    tree_.fill([&](ServerId server) {
      const bool is_allowed = (request.types >> free.cluster().type(server) & 1) != 0;
      return std::int64_t{is_allowed ? free.free_gpus(server) : 0};
    });
    tree_.descend(tree_.holding(request.gpus).front(), request.gpus,
                  [&](ServerId server, std::int64_t gpus) {
                    out.pieces.push_back(free.lowest_free(server, static_cast<int>(gpus)));
                  });
    sort_by_server(out);
    return true;
  }

 private:
  /// Large jobs take whole servers of one size and a server for the rest, or `gpus_per_node` of
  /// each, all in one domain.
  bool place_demand(const Occupancy& free, const Request& request, Allocation& out) {
    const Ask node = packer_.each(request, packer_.start(free, request, out));
    if (request.gpus <= node.workers) {
      return packer_.add(free, packer_.ask(request, request.gpus), 1, out) == 1;
    }
    const int num = node.workers > 0 ? request.gpus / node.workers : 0;
    const int rest = node.workers > 0 ? request.gpus % node.workers : 0;
    if (num == 0 || !packer_.may_have(free, node, num)) return false;
    tree_.fill([&](ServerId server) { return std::int64_t{can_host(free, server, node)}; });
    for (const std::int32_t domain : tree_.holding(num)) {
      out.reset(request.gpus);
      tree_.descend(domain, num, [&](ServerId server, std::int64_t amount) {
        if (amount > 0) out.pieces.push_back(tight_piece(free, server, node));
      });
      if (rest > 0 && !add_rest(free, packer_.ask(request, rest), domain, out)) continue;
      sort_by_server(out);
      return true;
    }
    return false;
  }

  bool add_rest(const Occupancy& free, const Ask& rest, std::int32_t domain, Allocation& out) {
    ServerId best = -1;
    double least = 0;
    for (ServerId server = 0; server < free.cluster().num_servers(); ++server) {
      if (!can_host(free, server, rest) || !tree_.is_inside(server, domain)) continue;
      const double room = capacities_.room(free, server);
      if (best >= 0 && room >= least) continue;
      if (std::any_of(out.pieces.begin(), out.pieces.end(),
                      [&](const Piece& piece) { return piece.server == server; })) {
        continue;
      }
      best = server;
      least = room;
    }
    if (best >= 0) out.pieces.push_back(tight_piece(free, best, rest));
    return best >= 0;
  }

  DomainTree tree_;
  Capacities capacities_;
};

}  // namespace

GPUSCHED_REGISTER(Placement, Topology, .name = "topology",
                  .summary = "The smallest topology domain that fits the job, at each level.",
                  .source = "Kueue, topology-aware scheduling (BestFit).",
                  .flags = {Flag::demands, Flag::shares, Flag::scatters})

}  // namespace gpusched
