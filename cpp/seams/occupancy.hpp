#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/index_set.hpp"
#include "model/allocation.hpp"
#include "model/cluster.hpp"
#include "seams/change_log.hpp"

namespace gpusched {

/// How many jobs of one shape have GPUs of a server. The shape is the width, or for a share its
/// negative thousandths.
struct Hosted {
  std::int32_t shape;
  std::int32_t gangs;
};

/// Which GPUs are free, indexed so that a placement asks in O(1) for the best-fitting server and
/// touches no other server than those it takes. For each GPU type and each free count there is
/// the set of servers with that count.
class Occupancy {
 public:
  /// `pooled`: only the number of free GPUs is kept (placement `count`). `has_demands`: shares of
  /// GPUs, CPU and memory are kept too, and which servers change. `has_shapes`: the latter in any
  /// case, and what each server hosts.
  Occupancy(const Cluster& cluster, bool pooled, bool has_demands = false, bool has_shapes = false);

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
  /// Both move `gpus` in all; the pieces must be free, or held. Empty under a pool. GPUs of a closed
  /// server do not become free when they are released; the job that held them may have them back.
  void acquire(int gpus, std::span<const Piece> pieces);
  void release(int gpus, std::span<const Piece> pieces);
  /// Frees of a server what is free of it there, and nothing else. Where whole GPUs alone are kept.
  void copy_server(const Occupancy& other, ServerId server) noexcept;

  /// Call before the run if servers may close.
  void begin_closing();
  [[nodiscard]] bool may_close() const noexcept { return may_close_; }
  /// Nobody can get a GPU of the server any more; what jobs hold there stays theirs.
  void close(ServerId server);
  /// The GPUs of the server that no job holds are free again.
  void open(ServerId server);
  /// The GPUs of the server that are neither free nor held; only if servers may close.
  [[nodiscard]] GpuMask down_mask(ServerId server) const noexcept {
    return down_[static_cast<std::size_t>(server)];
  }
  /// Whether a job that let go of these in the present decision can have them back, with the CPU and
  /// memory of its workers.
  [[nodiscard]] bool can_return(std::span<const Piece> pieces, const Demand* demand) const noexcept;

  /// Whether more than whole GPUs is kept. Only then may those below be called.
  [[nodiscard]] bool has_demands() const noexcept { return !free_cpu_.empty(); }
  [[nodiscard]] std::int64_t free_cpu_milli(ServerId server) const noexcept {
    return free_cpu_[static_cast<std::size_t>(cluster_->part_of(server))];
  }
  [[nodiscard]] std::int64_t free_memory_mib(ServerId server) const noexcept {
    return free_memory_[static_cast<std::size_t>(cluster_->part_of(server))];
  }
  /// Thousandths of one GPU, and of all GPUs of the server together.
  [[nodiscard]] int free_milli(ServerId server, int gpu) const noexcept {
    return free_milli_[first_gpu_[static_cast<std::size_t>(server)] +
                       static_cast<std::size_t>(gpu)];
  }
  [[nodiscard]] std::int64_t free_milli(ServerId server) const noexcept {
    return free_sum_[static_cast<std::size_t>(server)];
  }
  /// The GPUs of the server that are neither wholly free nor wholly taken.
  [[nodiscard]] GpuMask shared_mask(ServerId server) const noexcept {
    return shared_[static_cast<std::size_t>(server)];
  }
  /// Grows whenever anything of the server is acquired or released.
  [[nodiscard]] std::uint32_t version(ServerId server) const noexcept {
    return versions_[static_cast<std::size_t>(server)];
  }
  /// Whether the server has the CPU and memory for this many workers.
  [[nodiscard]] bool has_room(ServerId server, const Demand& demand, int workers) const noexcept {
    return free_cpu_milli(server) >= demand.cpu_milli * workers &&
           free_memory_mib(server) >= demand.memory_mib * workers;
  }
  /// The same for workers with demands.
  [[nodiscard]] bool is_free(std::span<const Piece> pieces, const Demand& demand) const noexcept;
  void acquire(int gpus, std::span<const Piece> pieces, const Demand& demand);
  void release(int gpus, std::span<const Piece> pieces, const Demand& demand);
  /// One or the other, by whether there is a demand.
  void acquire(int gpus, std::span<const Piece> pieces, const Demand* demand) {
    demand != nullptr ? acquire(gpus, pieces, *demand) : acquire(gpus, pieces);
  }
  void release(int gpus, std::span<const Piece> pieces, const Demand* demand) {
    demand != nullptr ? release(gpus, pieces, *demand) : release(gpus, pieces);
  }

  /// The lowest, or the highest, free count of at least `need` on a server of the given types; 0 if
  /// there is none. `need` is at least 1.
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
  /// Visits the servers with at least `need` free GPUs, in no order. `need` is at least 1.
  template <class Visit>
  void for_each_server(TypeMask types, int need, Visit visit) const {
    if (need > kMaxGpusPerServer) return;
    for_each_type(types, [&](const Levels& levels) {
      std::uint64_t rest = levels.nonempty & (~std::uint64_t{0} << (need - 1));
      for (; rest != 0; rest &= rest - 1) {
        const IndexSet& servers = levels.servers[static_cast<std::size_t>(std::countr_zero(rest))];
        for (int at = servers.next(-1); at >= 0; at = servers.next(at)) visit(ServerId{at});
      }
    });
  }
  [[nodiscard]] std::int64_t num_shared_only() const noexcept {
    return static_cast<std::int64_t>(shared_only_.count());
  }
  /// Visits the servers on which GPUs are shared and none is wholly free. Kept with demands.
  template <class Visit>
  void for_each_shared_only(TypeMask types, Visit visit) const {
    for (int at = shared_only_.next(-1); at >= 0; at = shared_only_.next(at)) {
      if ((types >> cluster_->type(at) & 1) != 0) visit(ServerId{at});
    }
  }
  /// `count` free GPUs of the server, lowest ids first.
  [[nodiscard]] Piece lowest_free(ServerId server, int count) const noexcept;

  /// Which servers changed; kept with demands or shapes.
  [[nodiscard]] const ChangeLog& changes() const noexcept { return changes_; }
  /// The jobs on the server, unordered; kept with shapes.
  [[nodiscard]] bool has_shapes() const noexcept { return !hosted_.empty(); }
  [[nodiscard]] std::span<const Hosted> hosted(ServerId server) const noexcept {
    return hosted_[static_cast<std::size_t>(server)];
  }

 private:
  /// The servers of one GPU type by free count.
  struct Levels {
    std::uint64_t nonempty = 0;  // bit f - 1: some server has f free GPUs
    std::int64_t num_free = 0;
    std::vector<IndexSet> servers;
  };

  void move(ServerId server, GpuMask after, int gpus) noexcept;
  void acquire_closed(std::span<const Piece> pieces) noexcept;
  void release_closed(std::span<const Piece> pieces) noexcept;
  void move_demand(const Piece& piece, const Demand& demand, int sign) noexcept;
  void note_shared_only(ServerId server) noexcept;
  void move_shape(std::span<const Piece> pieces, std::int32_t shape, int sign);

  template <class Visit>
  void for_each_type(TypeMask types, Visit visit) const {
    for (TypeMask rest = types & cluster_->all_types(); rest != 0; rest &= rest - 1) {
      visit(levels_[static_cast<std::size_t>(std::countr_zero(rest))]);
    }
  }

  const Cluster* cluster_;
  bool pooled_;
  bool may_close_ = false;
  std::int64_t num_free_;
  std::uint64_t num_releases_ = 0;
  std::vector<GpuMask> free_;
  std::vector<std::int32_t> num_free_of_;
  std::vector<Levels> levels_;
  // Of each server, if servers may close: all its GPUs while it is closed, and those of them that no
  // job holds.
  std::vector<GpuMask> closed_;
  std::vector<GpuMask> down_;
  // Of each server; empty where only whole GPUs are kept. CPU and memory of parts are those of the
  // first one.
  std::vector<std::int64_t> free_cpu_;
  std::vector<std::int64_t> free_memory_;
  std::vector<std::int64_t> free_sum_;
  std::vector<GpuMask> shared_;
  IndexSet shared_only_;
  std::vector<std::uint32_t> versions_;
  std::vector<std::size_t> first_gpu_;
  std::vector<std::int32_t> free_milli_;  // of each GPU
  ChangeLog changes_;
  std::vector<std::vector<Hosted>> hosted_;  // on each server; empty without shapes
};

/// The `count` lowest bits of `mask`.
[[nodiscard]] GpuMask lowest_bits(GpuMask mask, int count) noexcept;

}  // namespace gpusched
