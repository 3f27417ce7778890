#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "model/allocation.hpp"
#include "placing/host_set.hpp"
#include "placing/hosts.hpp"
#include "placing/packing_index.hpp"
#include "placing/packing_rule.hpp"
#include "placing/placement_parts.hpp"
#include "placing/server_buckets.hpp"
#include "seams/occupancy.hpp"
#include "seams/placement.hpp"
#include "seams/slow_twins.hpp"

namespace gpusched {

/// Places by a rule over all resources. A job that the largest server of its types could hold gets
/// one server; a larger one takes whole servers of that size, in the order of the rule, and then a
/// server for the remainder. With `gpus_per_node`, each server must provide that many. All or
/// nothing.
template <class Rule>
class Packer {
 public:
  Packer() = default;
  explicit Packer(Rule rule) : rule_(std::move(rule)) {}

  void begin(const PlacementSetup& setup) {
    rule_.begin(setup);
    const Occupancy& own = setup.state.occupancy();
    index_.begin(own.changes().history());
    // If jobs request only GPUs, there are few distinct requests, and cached scores are cheaper.
    const bool has_buckets = own.has_demands() && !takes_slow_twins;
    buckets_.begin(has_buckets ? own.changes().history() : 0);
    has_gpus_per_node_ = setup.state.jobs().has_gpus_per_node();
  }

  /// Kept out of placements that seldom need it.
  [[gnu::noinline]] bool place(const Occupancy& free, const Request& request, Allocation& out) {
    const Ask node = each(request, start(free, request, out));
    if (request.gpus <= node.workers) return add(free, ask(request, request.gpus), 1, out) == 1;
    const int num = node.workers > 0 ? request.gpus / node.workers : 0;
    const int rest = node.workers > 0 ? request.gpus % node.workers : 0;
    if (num == 0 || !may_have(free, node, num)) return false;
    if (add(free, node, num, out) < num) return false;
    if (rest > 0 && add(free, ask(request, rest), 1, out) == 0) return false;
    sort_by_server(out);
    return true;
  }

  /// A job with `gpus_per_node` may span several servers that have no more GPUs.
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const {
    return has_gpus_per_node_ ? free.num_free(types) : widest_consolidated(free, types);
  }

  /// The parts of `place`, for placements that build large jobs in another way. Returns the size of
  /// the largest server that the job may use.
  int start(const Occupancy& free, const Request& request, Allocation& out) {
    rule_.start(request);
    out.reset(request.gpus);
    return free.cluster().largest_server(request.types);
  }
  [[nodiscard]] static Ask ask(const Request& request, int workers) noexcept {
    const Demand demand = request.demand == nullptr ? Demand{} : *request.demand;
    return {request.types, workers, false, demand, Rule::kTellsGangs ? request.gpus : workers};
  }
  [[nodiscard]] static Ask whole(const Request& request, int size) noexcept {
    Ask whole = ask(request, size);
    whole.is_whole = true;
    return whole;
  }
  /// The request of a multi-server job to each server, except the one for the remainder.
  [[nodiscard]] static Ask each(const Request& request, int size) noexcept {
    return request.gpus_per_node > 0 ? ask(request, request.gpus_per_node) : whole(request, size);
  }
  /// False if fewer than `num_nodes` servers are wholly free.
  [[nodiscard]] static bool may_have(const Occupancy& free, const Ask& node, int num) noexcept {
    return !node.is_whole || free.num_servers_at(node.types, node.workers) >= num;
  }
  /// Adds up to `count` servers that `out` does not have, each for one ask; returns how many.
  int add(const Occupancy& free, const Ask& ask, int count, Allocation& out) {
    if constexpr (!Rule::kTakesLeast) {
      return add_any(free, ask, count, out);
    } else {
      if (buckets_.follow(free) && rule_.has_buckets()) {
        return add_from_buckets(free, ask, count, out);
      }
      if (count == 1 && out.pieces.empty() && !index_.pays(free, ask, Rule::kIsCostly)) {
        const ServerId server = look_once(free, ask);
        if (server < 0) return 0;
        out.pieces.push_back(rule_.piece(free, server, ask));
        return 1;
      }
      return add_by_scores(free, ask, count, out);
    }
  }

 private:
  int add_any(const Occupancy& free, const Ask& ask, int count, Allocation& out) {
    hosts_.reset(free.cluster().num_servers());
    fill_hosts(free, ask);
    for (const Piece& piece : out.pieces) hosts_.erase(piece.server);
    int num_added = 0;
    for (; num_added < count; ++num_added) {
      const ServerId server = rule_.choose(hosts_);
      if (server < 0) break;
      out.pieces.push_back(rule_.piece(free, server, ask));
      hosts_.erase(server);
    }
    return num_added;
  }

  void fill_hosts(const Occupancy& free, const Ask& ask) {
    HostSet::Filler filler(hosts_);
    const auto insert = [&](ServerId server) { filler.insert(server); };
    if (buckets_.follow(free)) {
      buckets_.refresh(free, rule_);
      buckets_.for_each_host(free, ask, insert);
    } else {
      for_each_host(free, ask, insert);
    }
  }

  int add_from_buckets(const Occupancy& free, const Ask& ask, int count, Allocation& out) {
    buckets_.refresh(free, rule_);
    for (const Piece& piece : out.pieces) buckets_.take_down(piece.server);
    int num_added = 0;
    while (num_added < count) {
      const ServerId server = buckets_.find(free, ask, rule_);
      if (server < 0) break;
      out.pieces.push_back(rule_.piece(free, server, ask));
      if (++num_added < count) buckets_.take_down(server);
    }
    const std::size_t num_down = out.pieces.size() - (num_added == count ? 1 : 0);
    for (std::size_t i = 0; i < num_down; ++i) buckets_.put_back(out.pieces[i].server);
    return num_added;
  }

  int add_by_scores(const Occupancy& free, const Ask& ask, int count, Allocation& out) {
    LeastScore& scores =
        index_.find(free, ask, [&](ServerId server) { return rule_.score(free, server, ask); });
    for (const Piece& piece : out.pieces) hide(scores, piece.server);
    int num_added = 0;
    while (num_added < count) {
      const ServerId server = scores.best();
      if (server < 0) break;
      out.pieces.push_back(rule_.piece(free, server, ask));
      if (++num_added < count) hide(scores, server);
    }
    for (; !hidden_.empty(); hidden_.pop_back()) {
      scores.set(hidden_.back().first, hidden_.back().second);
    }
    return num_added;
  }

  /// The result of the scores, without them.
  ServerId look_once(const Occupancy& free, const Ask& ask) {
    const auto score = [&](ServerId server) { return rule_.score(free, server, ask); };
    if constexpr (BoundsByLevel<Rule>) {
      if (ask.workers > 0) {
        const auto bound = [&](int level) { return rule_.least_score(level, ask); };
        return least_host(free, ask, bound, score);
      }
    }
    return least_host(free, ask, score);
  }

  void hide(LeastScore& scores, ServerId server) {
    hidden_.emplace_back(server, scores.score(server));
    scores.set(server, LeastScore::kNever);
  }

  Rule rule_;
  PackingIndex index_;
  ServerBuckets buckets_;
  std::vector<std::pair<ServerId, double>> hidden_;
  HostSet hosts_;  // where any of them is as good
  bool has_gpus_per_node_ = false;
};

}  // namespace gpusched
