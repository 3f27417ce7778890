#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "model/cluster.hpp"
#include "model/demand.hpp"
#include "model/job_table.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// A request of the workload, with its frequency.
struct TaskType {
  int gpus;  ///< 0: CPU only
  std::int32_t share_milli = kWholeGpu;
  std::int64_t cpu_milli = 0;  ///< of each worker
  TypeMask types = ~TypeMask{0};
  std::int64_t weight = 1;

  friend auto operator<=>(const TaskType&, const TaskType&) = default;
};

/// The free resources of a server that count for fragmentation.
struct Leftover {
  int type;
  std::int64_t cpu_milli;
  int whole_gpus;
  std::array<std::int16_t, kMaxGpusPerServer> parts;  ///< thousandths of the partly used GPUs
  int num_parts;
};

/// How much of the free GPUs a workload cannot use: for each type of task, the free capacity of a
/// server that such a task cannot use, weighted by the popularity of the type (Weng et al., ATC
/// 2023). A task that lacks CPU or GPUs, or needs another GPU type, can use nothing; a share can
/// use all GPUs with that much left; other jobs the wholly free GPUs. A job that spans servers
/// counts as a whole server's worth. Memory is ignored, as in the authors' program.
///
/// Counted in integers: (weight of the tasks) x (thousandths of a GPU).
class Fragmentation {
 public:
  /// Throws InvalidInput if a weight is negative or all are 0. Similar requests are merged beyond
  /// some hundred distinct CPU demands or shares.
  Fragmentation(std::span<const TaskType> tasks, const Cluster& cluster);

  /// The types of task in a workload, each weighted by its jobs.
  static std::vector<TaskType> popularity(const JobTable& jobs);

  /// The most frequent tasks that make up this many per cent of the jobs.
  static std::vector<TaskType> most_popular(std::vector<TaskType> tasks, int percent);

  /// Thousandths of a GPU of the server that a task of the workload cannot use on average.
  [[nodiscard]] double of_server(const Occupancy& free, ServerId server) const;
  /// The sum over all servers. If the occupancy records changes, only servers that changed since
  /// the last call are recounted.
  [[nodiscard]] double total(const Occupancy& free);

  [[nodiscard]] static Leftover leftover(const Occupancy& free, ServerId server);

  [[nodiscard]] std::int64_t total_weight() const noexcept { return total_weight_; }

  /// How many of the CPU demands a server with so much can host.
  [[nodiscard]] std::size_t rank(std::int64_t cpu_milli) const noexcept;
  /// Of the tasks that a server of the type with that much CPU can host: the weight of those with a
  /// share of at most `milli`, and of the jobs of at most each width.
  [[nodiscard]] const std::int64_t* row(int type, std::size_t rank) const noexcept {
    return rows_.data() + (static_cast<std::size_t>(type) * num_ranks_ + rank) * stride_;
  }
  [[nodiscard]] std::int64_t part_usable(const std::int64_t* row, int milli) const noexcept {
    return row[column_of_milli_[static_cast<std::size_t>(milli)]] * milli;
  }
  [[nodiscard]] std::int64_t whole_usable(const std::int64_t* row, int gpus) const noexcept {
    const std::int64_t weight =
        row[column_of_milli_[kWholeGpu]] + row[first_width_ + static_cast<std::size_t>(gpus)];
    return weight * kWholeGpu * gpus;
  }
  /// The part of a server's free GPUs that those tasks can use. It does not fall with the rank.
  [[nodiscard]] std::int64_t usable(const std::int64_t* row, const Leftover& left) const noexcept;

 private:
  void count(std::span<const TaskType> tasks, const Cluster& cluster);
  void divide_cpu();
  [[nodiscard]] std::int64_t* row(int type, std::size_t rank) noexcept {
    return rows_.data() + (static_cast<std::size_t>(type) * num_ranks_ + rank) * stride_;
  }
  [[nodiscard]] std::int64_t usable(const Leftover& left) const noexcept;
  [[nodiscard]] std::int64_t fragments(const Leftover& left) const noexcept;

  std::int64_t total_weight_ = 0;
  std::vector<std::int64_t> cpu_;  // what some task asks for in all, ascending
  std::vector<std::uint16_t> first_rank_;  // of the lowest CPU of each cell
  unsigned cell_bits_ = 0;
  std::size_t num_ranks_ = 0;
  std::size_t stride_ = 0;
  std::size_t first_width_ = 0;
  std::array<std::uint16_t, kWholeGpu + 1> column_of_milli_{};
  std::vector<std::int64_t> rows_;
  // The cache of `total`.
  std::uint64_t history_ = 0;
  std::uint64_t seen_ = 0;
  std::vector<std::int64_t> of_server_;
  std::int64_t sum_ = 0;
};

}  // namespace gpusched
