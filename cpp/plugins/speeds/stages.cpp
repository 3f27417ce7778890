#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "base/parameters.hpp"
#include "base/registry.hpp"
#include "model/job_columns.hpp"
#include "placing/heavy_edge_cut.hpp"
#include "seams/occupancy.hpp"
#include "seams/speed.hpp"

namespace gpusched {
namespace {

/// Jobs of mixed parallelism: replicas of pipeline stages hand activations on, and the replicas
/// of one stage all-reduce their parameters. The slowest replica sets the pace.
class Stages final : public Speed {
 public:
  explicit Stages(const Parameters& parameters)
      : micro_batches_(static_cast<double>(parameters.integer("micro_batches"))) {}

  [[nodiscard]] double ideal_s(JobId job) const override { return limits_[kind_of(job)].low; }
  [[nodiscard]] IterationLimits limits(JobId job) const override { return limits_[kind_of(job)]; }

  [[nodiscard]] double iteration_s(const PlacedGang& gang) const override {
    const StageGraph graph = jobs_->stage_graph(jobs_->graph(gang.job));
    const std::size_t num_stages = graph.num_stages();
    count_replicas(gang, num_stages);
    find_bandwidths(gang);
    Pace pace;
    for (std::size_t stage = 0; stage < num_stages; ++stage) {
      pace.reduce_s = reduction_s(graph, stage, reduction_bandwidth(gang, num_stages, stage));
      for (std::size_t at = 0; at < gang.pieces.size(); ++at) {
        const std::span<const double> inside(&counts_[at * num_stages], num_stages);
        if (inside[stage] == 0) continue;
        const ServerId server = gang.pieces[at].server;
        const auto [same, other] = neighbour_bytes(graph, stage, inside);
        pace.add(graph.seconds(stage, cluster_->type(server)) +
                 (same / cluster_->network().intra(server) + other / outward_[at]));
      }
    }
    return std::max(total(pace, num_stages), ideal_s(gang.job));
  }

 private:
  void start(const JobTable& jobs, const Cluster& cluster, const JobClasses& classes) override {
    jobs_ = &jobs;
    cluster_ = &cluster;
    require_bandwidths("stages", cluster);
    find_stages();
    const auto num_kinds = static_cast<std::size_t>(jobs.num_graphs()) * num_type_sets();
    limits_.assign(num_kinds, {0, 0, 0});
    HeavyEdge heavy_edge(jobs, cluster, *this, true);
    const Occupancy empty(cluster, false);
    for (JobId job = 0; job < jobs.num_jobs(); ++job) {
      IterationLimits& limits = limits_[kind_of(job)];
      if (limits.low > 0 || classes.of(job) == JobClasses::kNoClass) continue;
      limits.low = bound(job, best_of(types_of(job)));
      limits.min = good_s(job, empty, heavy_edge);
      limits.max = std::max(limits.min, bound(job, worst_of(types_of(job))));
    }
  }

  /// The slowest replica so far; `reduce_s` is of the current stage.
  struct Pace {
    double reduce_s = 0;
    double slowest_s = 0;
    double slowest_replica_s = 0;
    double slowest_reduce_s = 0;

    void add(double replica_s) {
      slowest_s = std::max(slowest_s, replica_s + reduce_s);
      slowest_replica_s = std::max(slowest_replica_s, replica_s);
      slowest_reduce_s = std::max(slowest_reduce_s, reduce_s);
    }
  };

  /// One kind of server for all replicas.
  struct Everywhere {
    TypeMask types;
    bool is_fastest;  ///< of the allowed types; else the slowest
    double pipeline_bytes_per_s;
    double reduction_bytes_per_s;
  };

  struct NeighbourBytes {
    double same;   ///< to replicas on the same server
    double other;  ///< to all other replicas
  };

  [[nodiscard]] double total(const Pace& pace, std::size_t num_stages) const {
    if (micro_batches_ == 0) return pace.slowest_s;
    const double fill = micro_batches_ + static_cast<double>(num_stages - 1);
    return pace.slowest_replica_s * (fill / micro_batches_) + pace.slowest_reduce_s;
  }

  [[nodiscard]] static double reduction_s(const StageGraph& graph, std::size_t stage,
                                          double bytes_per_s) {
    const double replicas = graph.replicas[stage];
    return 2.0 * (replicas - 1) / replicas * graph.parameter_bytes[stage] / bytes_per_s;
  }

  /// The bytes that a replica of the stage exchanges with neighbouring stages in an iteration.
  [[nodiscard]] static NeighbourBytes neighbour_bytes(const StageGraph& graph, std::size_t stage,
                                                      std::span<const double> inside) {
    NeighbourBytes bytes{0, 0};
    const double replicas = graph.replicas[stage];
    const auto add = [&](std::size_t next_to, double activations) {
      const double all = graph.replicas[next_to];
      const double weight = 2.0 * activations / (all * replicas);
      bytes.same += inside[next_to] * weight;
      bytes.other += (all - inside[next_to]) * weight;
    };
    if (stage > 0) add(stage - 1, graph.activation_bytes[stage - 1]);
    if (stage + 1 < graph.num_stages()) add(stage + 1, graph.activation_bytes[stage]);
    return bytes;
  }

  /// counts_[server * stages + stage]: replicas of the stage on the server.
  void count_replicas(const PlacedGang& gang, std::size_t num_stages) const {
    const int graph = jobs_->graph(gang.job);
    const std::int32_t* stage_of =
        stage_of_.data() + first_vertex_[static_cast<std::size_t>(graph)];
    counts_.assign(gang.pieces.size() * num_stages, 0.0);
    std::size_t at = 0;
    for (std::size_t piece = 0; piece < gang.pieces.size(); ++piece) {
      for (int gpu = 0; gpu < gang.pieces[piece].gpus; ++gpu, ++at) {
        const std::size_t vertex =
            gang.ranks.empty() ? at : static_cast<std::size_t>(gang.ranks[at]);
        counts_[piece * num_stages + static_cast<std::size_t>(stage_of[vertex])] += 1;
      }
    }
  }

  /// outward_[server]: bytes per second that each of its workers has to other servers.
  void find_bandwidths(const PlacedGang& gang) const {
    const Network& network = cluster_->network();
    const auto num_servers = static_cast<LinkId>(cluster_->num_servers());
    outward_.clear();
    for (std::size_t at = 0; at < gang.pieces.size(); ++at) {
      const Piece& piece = gang.pieces[at];
      double bytes_per_s = network.intra(piece.server);
      if (!gang.shares.empty()) {
        bytes_per_s = std::min(bytes_per_s, gang.shares[at].bytes_per_s / piece.gpus);
      }
      const auto uplinks = gang.shares.subspan(std::min(gang.pieces.size(), gang.shares.size()));
      if (!uplinks.empty()) {
        for (std::int32_t domain = network.domain(piece.server); domain >= 0;
             domain = network.parent(domain)) {
          for (const LinkShare& share : uplinks) {
            if (share.link != num_servers + domain) continue;
            bytes_per_s = std::min(bytes_per_s, share.bytes_per_s / share.gpus);
          }
        }
      }
      outward_.push_back(bytes_per_s);
    }
  }

  [[nodiscard]] double reduction_bandwidth(const PlacedGang& gang, std::size_t num_stages,
                                           std::size_t stage) const {
    int num_servers = 0;
    double inside = kInfinity;
    double across = inside;
    for (std::size_t at = 0; at < gang.pieces.size(); ++at) {
      const double replicas = counts_[at * num_stages + stage];
      if (replicas == 0) continue;
      ++num_servers;
      const double intra = cluster_->network().intra(gang.pieces[at].server);
      inside = std::min(inside, intra);
      across = std::min(across, std::min(intra, outward_[at] * replicas));
    }
    return num_servers == 1 ? inside : across;
  }

  /// The iteration time if all replicas met the same server and the same bandwidths.
  [[nodiscard]] double bound(JobId job, const Everywhere& everywhere) const {
    const StageGraph graph = jobs_->stage_graph(jobs_->graph(job));
    counts_.assign(graph.num_stages(), 0.0);
    Pace pace;
    for (std::size_t stage = 0; stage < graph.num_stages(); ++stage) {
      pace.reduce_s = reduction_s(graph, stage, everywhere.reduction_bytes_per_s);
      double compute_s = graph.seconds(stage, std::countr_zero(everywhere.types));
      for (TypeMask rest = everywhere.types; rest != 0; rest &= rest - 1) {
        const double seconds = graph.seconds(stage, std::countr_zero(rest));
        compute_s =
            everywhere.is_fastest ? std::min(compute_s, seconds) : std::max(compute_s, seconds);
      }
      pace.add(compute_s +
               neighbour_bytes(graph, stage, counts_).other / everywhere.pipeline_bytes_per_s);
    }
    return total(pace, graph.num_stages());
  }

  [[nodiscard]] Everywhere best_of(TypeMask types) const {
    double intra = 0;
    double nic = 0;
    for (ServerId server = 0; server < cluster_->num_servers(); ++server) {
      if ((types >> cluster_->type(server) & 1) == 0) continue;
      intra = std::max(intra, cluster_->network().intra(server));
      nic = std::max(nic, cluster_->network().bandwidth(server));
    }
    return {types, true, intra, std::max(intra, nic)};
  }

  [[nodiscard]] Everywhere worst_of(TypeMask types) const {
    const double least = least_reserved_bandwidth(*cluster_, types);
    return {types, false, least, least};
  }

  [[nodiscard]] double good_s(JobId job, const Occupancy& empty, HeavyEdge& heavy_edge) const {
    Allocation allocation;
    heavy_edge.place(empty, {job, jobs_->gpus(job), types_of(job), 0}, false, allocation);
    RingLinks finder(cluster_->network());
    std::vector<Crossing> crossings;
    std::vector<LinkShare> shares;
    finder.find(allocation.pieces, allocation.gpus, crossings);
    reserved_shares(cluster_->network(), crossings, shares);
    return iteration_s({job, allocation.pieces, allocation.ranks, shares});
  }

  [[nodiscard]] TypeMask types_of(JobId job) const {
    return jobs_->types(job) & cluster_->all_types();
  }

  [[nodiscard]] std::size_t num_type_sets() const {
    return jobs_->has_types() ? jobs_->columns().type_masks.size() : 1;
  }

  /// Jobs of one kind have the same graph and the same allowed types.
  [[nodiscard]] std::size_t kind_of(JobId job) const {
    const auto graph = static_cast<std::size_t>(jobs_->graph(job));
    if (!jobs_->has_types()) return graph;
    return graph * num_type_sets() + static_cast<std::size_t>(jobs_->columns().type_set[job]);
  }

  void find_stages() {
    stage_of_.clear();
    first_vertex_.clear();
    for (int graph = 0; graph < jobs_->num_graphs(); ++graph) {
      first_vertex_.push_back(stage_of_.size());
      const StageGraph stages = jobs_->stage_graph(graph);
      for (std::size_t stage = 0; stage < stages.num_stages(); ++stage) {
        stage_of_.insert(stage_of_.end(), static_cast<std::size_t>(stages.replicas[stage]),
                         static_cast<std::int32_t>(stage));
      }
    }
  }

  double micro_batches_;
  const JobTable* jobs_ = nullptr;
  const Cluster* cluster_ = nullptr;
  std::vector<IterationLimits> limits_;     // of each kind of job
  std::vector<std::size_t> first_vertex_;   // of each graph in stage_of_
  std::vector<std::int32_t> stage_of_;      // of each vertex
  // Of the current job; a speed serves one run, and a run is one thread.
  mutable std::vector<double> counts_;
  mutable std::vector<double> outward_;
};

}  // namespace

GPUSCHED_REGISTER(
    Speed, Stages, .name = "stages",
    .summary = "Pipeline stages with replicas: the slowest replica sets the pace.",
    .source = "Jobs as graphs: Luo et al., INFOCOM 2025 (the abstract); the equations are ours.",
    .flags = {Flag::graphs},
    .parameters = {{.name = "micro_batches",
                    .fallback = std::int64_t{0},
                    .help = "micro-batches that fill the pipeline before parameters are reduced "
                            "(0: asynchronous pipeline)",
                    .minimum = 0,
                    .maximum = 1e6}},
    .columns = names_of({JobColumn::graph, JobColumn::graph_begin, JobColumn::replicas,
                         JobColumn::stage_compute_s, JobColumn::activation_bytes,
                         JobColumn::parameter_bytes}))

}  // namespace gpusched
