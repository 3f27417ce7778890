#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gpusched {

/// A job graph as a cut sees it. The replicas of a stage are interchangeable: all pairs of one
/// kind weigh the same, and vertices are numbered stage by stage. An edge that weighs nothing is
/// none.
struct CutGraph {
  std::span<const std::int32_t> replicas;  ///< of each stage, at least 1
  /// Per pair of a replica of a stage and one of the next: one weight fewer than stages.
  std::span<const double> pipeline_weights;
  /// Per pair of replicas of one stage.
  std::span<const double> allreduce_weights;
};

/// Divides the vertices of a job graph among servers so that heavy edges stay inside them. All
/// that is compared is computed from counts per stage in a fixed order, so the answer is the same
/// everywhere. Results name the vertex of each GPU: server by server in the order given, ascending
/// on a server; of a stage, earlier servers have the lower vertices.
class GraphCut {
 public:
  /// The cost of a division, given its ranks; finite.
  using Cost = std::function<double(std::span<const std::int32_t> ranks)>;

  /// Fills one server after the other with `quotas` vertices. A server starts with both ends of the
  /// heaviest edge between unassigned vertices and adds the unassigned vertex with the largest
  /// weight into its set; ties go to the smaller weight out of the set, then to the lower vertex. A
  /// quota of 1 takes the vertex with the lowest incident weight. O(vertices x stages).
  /// std::invalid_argument unless the quotas, each at least 1, add up to the vertices.
  void grow(const CutGraph& graph, std::span<const std::int32_t> quotas,
            std::vector<std::int32_t>& ranks);

  /// Exchanges two vertices of different stages on different servers whenever that lowers the cost,
  /// pass after pass (by server, other server, stage, other stage) until a pass finds nothing, or
  /// after as many trials as there are ordered pairs of vertices, including equal ones. Returns the
  /// cost, which never rises.
  ///
  /// `kinds`: by server; the cost must be bit-identical if two servers of one kind and quota swap
  /// all vertices. Trials that are repetitions by such swaps are counted, at no cost.
  double improve(std::span<const std::int32_t> replicas, std::span<const std::int32_t> quotas,
                 std::span<const std::int32_t> kinds, const Cost& cost,
                 std::vector<std::int32_t>& ranks);

 private:
  [[nodiscard]] std::int32_t& count(std::size_t server, std::size_t stage) noexcept {
    return counts_[server * num_stages_ + stage];
  }
  [[nodiscard]] double weight(const CutGraph& graph, std::size_t stage,
                              std::span<const std::int32_t> counts, int own) const noexcept;
  void seed(const CutGraph& graph, std::span<std::int32_t> inside);
  void assign(std::size_t stage, std::span<std::int32_t> inside) noexcept;
  [[nodiscard]] bool is_repetition(std::span<const std::int32_t> kinds, std::size_t a,
                                   std::size_t b) const noexcept;
  void deal(std::span<const std::int32_t> replicas, std::vector<std::int32_t>& ranks);

  std::size_t num_stages_ = 0;
  std::vector<std::int32_t> left_;    // unassigned replicas of each stage
  std::vector<std::int32_t> counts_;  // by server, then stage
  std::vector<std::int32_t> next_;    // vertex of each stage to be dealt next
  std::vector<double> incident_;      // weight of all edges of a vertex, by stage
  std::size_t last_a_ = 0;            // servers of the last exchange that was kept in this pass
  std::size_t last_b_ = 0;
};

}  // namespace gpusched
