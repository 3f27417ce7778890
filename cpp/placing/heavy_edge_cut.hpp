#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "model/allocation.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "model/network.hpp"
#include "placing/cut_memo.hpp"
#include "seams/occupancy.hpp"
#include "seams/speed.hpp"
#include "solvers/graph_cut.hpp"

namespace gpusched {

/// Places jobs so that heavy communication stays inside servers: on the server with the fewest free
/// GPUs that holds the job; else on the fewest servers in order of their free GPUs, with the job
/// graph cut by GraphCut. Exchanges are judged by the iteration time under reserved shares.
///
/// Cuts are cached: equal servers must give bit-identical iteration times, for every job of the
/// graph.
class HeavyEdge {
 public:
  /// The arguments outlive it. `swaps`: whether exchanges follow the cut.
  HeavyEdge(const JobTable& jobs, const Cluster& cluster, const Speed& speed, bool swaps);

  /// As Placement::place. `fewest_first`: a job that no server holds takes the servers with the
  /// fewest free GPUs first, not those with the most.
  bool place(const Occupancy& free, const Request& request, bool fewest_first, Allocation& out);

 private:
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;

  void number_kinds();
  [[nodiscard]] bool is_cut(JobId job) const;
  void find_key(JobId job, std::span<const Piece> pieces);
  void append_domains(ServerId server);
  [[nodiscard]] const std::vector<std::int32_t>& cut(JobId job, std::span<const Piece> pieces);
  void improve(JobId job, const StageGraph& graph);
  void sort(std::span<const std::int32_t> ranks, Allocation& out);
  void permute(std::span<const std::int32_t> ranks, std::vector<std::int32_t>& out) const;

  const JobTable& jobs_;
  const Cluster& cluster_;
  Ref<const Speed> speed_;
  bool swaps_;
  bool has_cuts_;
  GraphCut graph_cut_;
  RingLinks finder_;
  CutMemo memo_{kMostBytes};
  std::vector<std::int32_t> kind_of_server_;
  std::vector<std::int32_t> kind_in_domain_;  // of each server; those of one domain are alike
  std::vector<std::int32_t> kind_of_domain_;
  std::vector<std::int32_t> label_;  // of each domain in the present key; -1 between calls
  std::vector<std::int32_t> labelled_;

  // The current allocation: servers in the order of filling, and the position of each by server id.
  std::vector<std::int32_t> key_;
  std::vector<std::int32_t> quotas_;
  std::vector<std::int32_t> kinds_;
  std::vector<std::size_t> order_;
  std::vector<std::size_t> begin_;
  std::vector<Piece> pieces_;
  std::vector<Crossing> crossings_;
  std::vector<LinkShare> shares_;
  std::vector<std::int32_t> ranks_;
  std::vector<std::int32_t> permuted_;
  std::vector<double> pipeline_weights_;
  std::vector<double> allreduce_weights_;
};

}  // namespace gpusched
