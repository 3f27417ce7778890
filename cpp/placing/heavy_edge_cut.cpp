#include "placing/heavy_edge_cut.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>

#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

/// Numbers rows by their values: equal rows have one number.
template <class Row>
std::vector<std::int32_t> numbers_of(const std::vector<Row>& rows) {
  std::map<Row, std::int32_t> numbers;
  std::vector<std::int32_t> result;
  result.reserve(rows.size());
  for (const Row& row : rows) {
    const auto next = static_cast<std::int32_t>(numbers.size());
    result.push_back(numbers.try_emplace(row, next).first->second);
  }
  return result;
}

}  // namespace

HeavyEdge::HeavyEdge(const JobTable& jobs, const Cluster& cluster, const Speed& speed, bool swaps)
    : jobs_(jobs),
      cluster_(cluster),
      speed_(speed),
      swaps_(swaps),
      has_cuts_(jobs.has_graphs() && !speed.is_fixed()),
      finder_(cluster.network()) {
  if (has_cuts_ && swaps_) number_kinds();
}

void HeavyEdge::number_kinds() {
  const Network& network = cluster_.network();
  std::vector<std::tuple<int, int, double, double>> servers;
  for (ServerId server = 0; server < cluster_.num_servers(); ++server) {
    servers.emplace_back(cluster_.type(server), cluster_.gpus(server), network.bandwidth(server),
                         network.intra(server));
  }
  kind_of_server_ = numbers_of(servers);
  std::vector<std::tuple<std::int32_t, std::int32_t>> inside;
  for (ServerId server = 0; server < cluster_.num_servers(); ++server) {
    inside.emplace_back(kind_of_server_[static_cast<std::size_t>(server)], network.domain(server));
  }
  kind_in_domain_ = numbers_of(inside);
  std::vector<std::tuple<std::int64_t, double>> domains;
  for (std::int32_t domain = 0; domain < network.num_domains(); ++domain) {
    const LinkId uplink = cluster_.num_servers() + domain;
    const bool is_root = network.parent(domain) < 0;  // its uplink is never read
    domains.emplace_back(network.gpus_behind(uplink), is_root ? 0.0 : network.bandwidth(uplink));
  }
  kind_of_domain_ = numbers_of(domains);
  label_.assign(domains.size(), -1);
}

bool HeavyEdge::place(const Occupancy& free, const Request& request, bool fewest_first,
                      Allocation& out) {
  if (request.gpus > free.num_free(request.types)) return false;
  out.reset(request.gpus);
  if (take_best_fit(free, request.types, request.gpus, out)) return true;
  LevelCursor servers(free, request.types,
                      fewest_first ? LevelCursor::Direction::up : LevelCursor::Direction::down);
  for (int rest = request.gpus; rest > 0;) {
    servers.advance();
    rest -= take(free, servers.server(), rest, out);
  }
  // The graph is that of the job's own width.
  if (is_cut(request.job) && request.gpus == jobs_.gpus(request.job)) {
    sort(cut(request.job, out.pieces), out);
  } else {
    sort_by_server(out);
  }
  return true;
}

/// If speeds are fixed, the order of workers is irrelevant; the replicas of one stage are
/// identical.
bool HeavyEdge::is_cut(JobId job) const {
  return has_cuts_ && jobs_.stage_graph(jobs_.graph(job)).num_stages() > 1;
}

/// All that a cut depends on: the graph, the quotas and, for exchanges, the allowed types (the
/// least iteration time is theirs), what the servers are like and which domains they share.
void HeavyEdge::find_key(JobId job, std::span<const Piece> pieces) {
  key_.assign(1, jobs_.graph(job));
  if (swaps_ && jobs_.has_types()) key_.push_back(jobs_.columns().type_set[job]);
  for (const Piece& piece : pieces) {
    key_.push_back(piece.gpus);
    if (!swaps_) continue;
    key_.push_back(kind_of_server_[static_cast<std::size_t>(piece.server)]);
    if (!label_.empty()) append_domains(piece.server);
  }
  for (const std::int32_t domain : labelled_) label_[static_cast<std::size_t>(domain)] = -1;
  labelled_.clear();
}

/// Appends the path up to a domain that another server has passed: its label, or -1 above the root.
/// New domains are labelled in turn and identified by their kinds, from -2 downwards.
void HeavyEdge::append_domains(ServerId server) {
  const Network& network = cluster_.network();
  for (std::int32_t domain = network.domain(server); domain >= 0; domain = network.parent(domain)) {
    std::int32_t& label = label_[static_cast<std::size_t>(domain)];
    if (label >= 0) {
      key_.push_back(label);
      return;
    }
    key_.push_back(-2 - kind_of_domain_[static_cast<std::size_t>(domain)]);
    label = static_cast<std::int32_t>(labelled_.size());
    labelled_.push_back(domain);
  }
  key_.push_back(-1);
}

const std::vector<std::int32_t>& HeavyEdge::cut(JobId job, std::span<const Piece> pieces) {
  order_.resize(pieces.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(),
            [&](std::size_t a, std::size_t b) { return pieces[a].server < pieces[b].server; });
  begin_.clear();
  quotas_.clear();
  std::size_t begin = 0;
  for (const Piece& piece : pieces) {
    begin_.push_back(begin);
    quotas_.push_back(piece.gpus);
    begin += static_cast<std::size_t>(piece.gpus);
  }
  pieces_.clear();
  for (const std::size_t at : order_) pieces_.push_back(pieces[at]);

  find_key(job, pieces);
  if (const auto* known = memo_.find(key_)) return *known;
  const StageGraph graph = jobs_.stage_graph(jobs_.graph(job));
  const std::size_t num_stages = graph.num_stages();
  pipeline_weights_.clear();
  allreduce_weights_.clear();
  for (std::size_t stage = 0; stage < num_stages; ++stage) {
    const double replicas = graph.replicas[stage];
    allreduce_weights_.push_back(4.0 * graph.parameter_bytes[stage] / replicas);
    if (stage + 1 == num_stages) break;
    pipeline_weights_.push_back(2.0 * graph.activation_bytes[stage] /
                                (replicas * static_cast<double>(graph.replicas[stage + 1])));
  }
  kinds_.clear();
  for (const Piece& piece : pieces) {
    if (swaps_) kinds_.push_back(kind_in_domain_[static_cast<std::size_t>(piece.server)]);
  }
  graph_cut_.grow({graph.replicas, pipeline_weights_, allreduce_weights_}, quotas_, ranks_);
  if (swaps_) improve(job, graph);
  return memo_.remember(key_, ranks_);
}

void HeavyEdge::improve(JobId job, const StageGraph& graph) {
  finder_.find(pieces_, jobs_.gpus(job), crossings_);
  reserved_shares(cluster_.network(), crossings_, shares_);
  const auto seconds = [&](std::span<const std::int32_t> ranks) {
    permute(ranks, permuted_);
    return speed_->iteration_s({job, pieces_, permuted_, shares_});
  };
  graph_cut_.improve(graph.replicas, quotas_, kinds_, seconds, ranks_);
}

void HeavyEdge::sort(std::span<const std::int32_t> ranks, Allocation& out) {
  out.pieces.assign(pieces_.begin(), pieces_.end());
  permute(ranks, out.ranks);
}

void HeavyEdge::permute(std::span<const std::int32_t> ranks, std::vector<std::int32_t>& out) const {
  out.clear();
  for (const std::size_t at : order_) {
    const auto block = ranks.subspan(begin_[at], static_cast<std::size_t>(quotas_[at]));
    out.insert(out.end(), block.begin(), block.end());
  }
}

}  // namespace gpusched
