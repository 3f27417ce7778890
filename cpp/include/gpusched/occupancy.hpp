#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/allocation.hpp"
#include "gpusched/cluster.hpp"
#include "gpusched/ids.hpp"
#include "gpusched/index_set.hpp"

namespace gpusched {

/// Which GPUs are free, indexed so that a placement asks in O(1) for the best-fitting server and
/// touches no other server than those it takes. For each GPU type and each free count there is
/// the set of servers with that count.
class Occupancy {
 public:
  /// `pooled`: only the number of free GPUs is kept (placement `count`).
  Occupancy(const Cluster& cluster, bool pooled);

  [[nodiscard]] const Cluster& cluster() const noexcept { return *cluster_; }
  [[nodiscard]] bool is_pooled() const noexcept { return pooled_; }
  [[nodiscard]] std::int64_t num_free() const noexcept { return num_free_; }
  [[nodiscard]] std::int64_t num_free(TypeMask types) const noexcept;
  [[nodiscard]] int free_gpus(ServerId server) const noexcept {
    return num_free_of_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] GpuMask free_mask(ServerId server) const noexcept {
    return free_[static_cast<std::size_t>(server)];
  }
  /// Grows with every release: what was refused may fit again only if it has.
  [[nodiscard]] std::uint64_t num_releases() const noexcept { return num_releases_; }

  /// Whether every GPU of the allocation is free.
  [[nodiscard]] bool is_free(std::span<const Piece> pieces) const noexcept;
  /// Both move `gpus` in all; the pieces must be free, or held. Empty under a pool.
  void acquire(int gpus, std::span<const Piece> pieces) noexcept;
  void release(int gpus, std::span<const Piece> pieces) noexcept;

  /// The least, or the greatest, free count of at least `need` that a server of the given types
  /// has; 0 if there is none. `need` is at least 1.
  [[nodiscard]] int least_level(TypeMask types, int need) const noexcept;
  [[nodiscard]] int greatest_level(TypeMask types) const noexcept;
  /// The greatest nonempty free count below `level`; 0 if there is none.
  [[nodiscard]] int level_below(TypeMask types, int level) const noexcept;
  /// The lowest server above `after` with exactly `level` free GPUs; -1 if there is none.
  [[nodiscard]] ServerId next_server(TypeMask types, int level, ServerId after) const noexcept;
  /// How many servers have exactly `level` free GPUs.
  [[nodiscard]] std::int64_t num_servers_at(TypeMask types, int level) const noexcept;
  /// The lowest server above `after` with at least `need` free GPUs; -1 if there is none.
  [[nodiscard]] ServerId next_fitting(TypeMask types, int need, ServerId after) const noexcept;
  /// `count` free GPUs of the server, lowest ids first.
  [[nodiscard]] Piece lowest_free(ServerId server, int count) const noexcept;

 private:
  /// The servers of one GPU type by free count.
  struct Levels {
    std::uint64_t nonempty = 0;  // bit f - 1: some server has f free GPUs
    std::int64_t num_free = 0;
    std::vector<IndexSet> servers;
  };

  void move(ServerId server, GpuMask after, int gpus) noexcept;

  template <class Visit>
  void for_each_type(TypeMask types, Visit visit) const {
    for (TypeMask rest = types & cluster_->all_types(); rest != 0; rest &= rest - 1) {
      visit(levels_[static_cast<std::size_t>(std::countr_zero(rest))]);
    }
  }

  const Cluster* cluster_;
  bool pooled_;
  std::int64_t num_free_;
  std::uint64_t num_releases_ = 0;
  std::vector<GpuMask> free_;
  std::vector<std::int32_t> num_free_of_;
  std::vector<Levels> levels_;
};

/// The `count` lowest bits of `mask`.
[[nodiscard]] GpuMask lowest_bits(GpuMask mask, int count) noexcept;

}  // namespace gpusched
