#include "placing/fragmentation.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <tuple>

#include "base/check.hpp"

namespace gpusched {
namespace {

/// Maximum number of distinct CPU demands, and of distinct shares.
constexpr std::size_t kMaxKinds = 128;

/// A look-up of the CPU demands that a number of milli-CPUs covers begins in one of 2^10 cells.
constexpr int kCellBits = 10;

/// The lowest number with this many significant bits that is not below `value`.
std::int64_t rounded_up(std::int64_t value, int bits) noexcept {
  const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value)));
  const int shift = std::max(0, width - bits);
  return ((value + (std::int64_t{1} << shift) - 1) >> shift) << shift;
}

void sort_unique(std::vector<std::int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

/// Rounds values up to fewer and fewer bits until at most kMaxKinds are distinct.
int bits_for(const std::vector<std::int64_t>& values) {
  for (int bits = 62;; --bits) {
    std::vector<std::int64_t> rounded;
    rounded.reserve(values.size());
    for (const std::int64_t value : values) rounded.push_back(rounded_up(value, bits));
    sort_unique(rounded);
    if (rounded.size() <= kMaxKinds || bits == 1) return bits;
  }
}

}  // namespace

Fragmentation::Fragmentation(std::span<const TaskType> tasks, const Cluster& cluster) {
  for (std::size_t row = 0; row < tasks.size(); ++row) {
    if (tasks[row].weight < 0) {
      fail_input("popularity: row " + std::to_string(row) + ", value " +
                 std::to_string(tasks[row].weight) + ": must be at least 0");
    }
    total_weight_ += tasks[row].weight;
  }
  if (total_weight_ == 0) fail_input("popularity: must not be 0 for every task");
  count(tasks, cluster);
}

void Fragmentation::count(std::span<const TaskType> tasks, const Cluster& cluster) {
  // A task's request to one server: a job that no server holds asks for whole servers.
  struct ServerShare {
    int gpus;
    std::int64_t cpu_milli;
  };
  std::vector<ServerShare> parts;
  std::vector<std::int64_t> cpu;
  std::vector<std::int64_t> shares;
  for (const TaskType& task : tasks) {
    const int gpus = std::min(task.gpus, cluster.largest_server(task.types));
    parts.push_back({gpus, task.cpu_milli * std::max(1, gpus)});
    cpu.push_back(parts.back().cpu_milli);
    if (task.share_milli < kWholeGpu) shares.push_back(task.share_milli);
  }
  sort_unique(cpu);
  sort_unique(shares);
  const int cpu_bits = bits_for(cpu);
  const int share_bits = bits_for(shares);
  const auto share_of = [&](const TaskType& task) {
    return std::min<std::int64_t>(kWholeGpu, rounded_up(task.share_milli, share_bits));
  };
  for (std::int64_t& value : cpu) value = rounded_up(value, cpu_bits);
  for (std::int64_t& value : shares) {
    value = std::min<std::int64_t>(kWholeGpu, rounded_up(value, share_bits));
  }
  sort_unique(cpu);
  sort_unique(shares);
  cpu_ = cpu;
  divide_cpu();
  num_ranks_ = cpu_.size() + 1;
  first_width_ = shares.size() + 1;
  stride_ = first_width_ + kMaxGpusPerServer + 1;
  for (std::size_t milli = 0; milli <= kWholeGpu; ++milli) {
    const auto above =
        std::upper_bound(shares.begin(), shares.end(), static_cast<std::int64_t>(milli));
    column_of_milli_[milli] = static_cast<std::uint16_t>(above - shares.begin());
  }

  rows_.assign(static_cast<std::size_t>(cluster.num_types()) * num_ranks_ * stride_, 0);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TaskType& task = tasks[i];
    const ServerShare& part = parts[i];
    if (part.gpus == 0) continue;  // a task without GPUs, or whose types no server has
    const std::size_t least_rank = rank(rounded_up(part.cpu_milli, cpu_bits));
    const std::size_t column = task.share_milli < kWholeGpu
                                   ? column_of_milli_[static_cast<std::size_t>(share_of(task))]
                                   : first_width_ + static_cast<std::size_t>(part.gpus);
    for (int type = 0; type < cluster.num_types(); ++type) {
      if ((task.types >> type & 1) != 0) row(type, least_rank)[column] += task.weight;
    }
  }
  // Accumulates weights over smaller CPU demands, shares and widths.
  for (int type = 0; type < cluster.num_types(); ++type) {
    for (std::size_t at = 0; at < num_ranks_; ++at) {
      std::int64_t* own = row(type, at);
      for (std::size_t column = 1; column < stride_; ++column) {
        if (column != first_width_) own[column] += own[column - 1];
      }
    }
    for (std::size_t at = 1; at < num_ranks_; ++at) {
      const std::int64_t* fewer = row(type, at - 1);
      std::int64_t* own = row(type, at);
      for (std::size_t column = 0; column < stride_; ++column) own[column] += fewer[column];
    }
  }
}

std::vector<TaskType> Fragmentation::popularity(const JobTable& jobs) {
  std::map<TaskType, std::int64_t> weights;
  auto last = weights.end();  // jobs that ask for the same thing often follow each other
  for (JobId job = 0; job < jobs.num_jobs(); ++job) {
    const Demand demand = jobs.demand(job) == nullptr ? Demand{} : *jobs.demand(job);
    const int per_node = jobs.gpus_per_node(job);
    const TaskType task{per_node > 0 ? per_node : jobs.gpus(job), demand.share_milli,
                        demand.cpu_milli, jobs.types(job)};
    if (last == weights.end() || last->first != task) last = weights.try_emplace(task, 0).first;
    ++last->second;
  }
  std::vector<TaskType> tasks;
  tasks.reserve(weights.size());
  for (const auto& [task, weight] : weights) {
    tasks.push_back(task);
    tasks.back().weight = weight;
  }
  return tasks;
}

std::vector<TaskType> Fragmentation::most_popular(std::vector<TaskType> tasks, int percent) {
  const auto key = [](const TaskType& task) {
    const std::int32_t share = task.gpus == 0 ? 0 : task.share_milli;
    return std::tuple(task.weight, task.cpu_milli, share, task.gpus, task.types);
  };
  std::sort(tasks.begin(), tasks.end(),
            [&](const TaskType& a, const TaskType& b) { return key(a) > key(b); });
  std::int64_t all = 0;
  for (const TaskType& task : tasks) all += task.weight;
  std::int64_t sum = 0;
  std::size_t num_kept = 0;
  while (100 * sum < percent * all) sum += tasks[num_kept++].weight;
  tasks.resize(num_kept);
  return tasks;
}

void Fragmentation::divide_cpu() {
  const auto most = static_cast<std::uint64_t>(cpu_.back());
  const int width = static_cast<int>(std::bit_width(most));
  cell_bits_ = static_cast<unsigned>(std::max(0, width - kCellBits));
  first_rank_.clear();
  for (std::uint64_t cell = 0; cell <= most >> cell_bits_; ++cell) {
    const auto least =
        std::lower_bound(cpu_.begin(), cpu_.end(), static_cast<std::int64_t>(cell << cell_bits_));
    first_rank_.push_back(static_cast<std::uint16_t>(least - cpu_.begin()));
  }
}

std::size_t Fragmentation::rank(std::int64_t cpu_milli) const noexcept {
  if (cpu_milli < 0) return 0;
  const auto cell = static_cast<std::size_t>(cpu_milli) >> cell_bits_;
  if (cell >= first_rank_.size()) return cpu_.size();
  std::size_t rank = first_rank_[cell];
  while (rank < cpu_.size() && cpu_[rank] <= cpu_milli) ++rank;
  return rank;
}

Leftover Fragmentation::leftover(const Occupancy& free, ServerId server) {
  Leftover left;
  left.type = free.cluster().type(server);
  left.whole_gpus = free.free_gpus(server);
  left.num_parts = 0;
  left.cpu_milli = Cluster::kUnlimited;
  if (!free.has_demands()) return left;
  left.cpu_milli = free.free_cpu_milli(server);
  for (GpuMask rest = free.shared_mask(server); rest != 0; rest &= rest - 1) {
    left.parts[static_cast<std::size_t>(left.num_parts++)] =
        static_cast<std::int16_t>(free.free_milli(server, std::countr_zero(rest)));
  }
  return left;
}

std::int64_t Fragmentation::usable(const std::int64_t* row, const Leftover& left) const noexcept {
  std::int64_t sum = whole_usable(row, left.whole_gpus);
  for (int part = 0; part < left.num_parts; ++part) {
    sum += part_usable(row, left.parts[static_cast<std::size_t>(part)]);
  }
  return sum;
}

std::int64_t Fragmentation::usable(const Leftover& left) const noexcept {
  return usable(row(left.type, rank(left.cpu_milli)), left);
}

std::int64_t Fragmentation::fragments(const Leftover& left) const noexcept {
  std::int64_t milli = std::int64_t{kWholeGpu} * left.whole_gpus;
  for (int part = 0; part < left.num_parts; ++part) {
    milli += left.parts[static_cast<std::size_t>(part)];
  }
  return milli * total_weight_ - usable(left);
}

double Fragmentation::of_server(const Occupancy& free, ServerId server) const {
  return static_cast<double>(fragments(leftover(free, server))) /
         static_cast<double>(total_weight_);
}

double Fragmentation::total(const Occupancy& free) {
  const ChangeLog& changes = free.changes();
  const auto num_servers = static_cast<std::size_t>(free.cluster().num_servers());
  const auto refresh = [&](ServerId server) {
    std::int64_t& own = of_server_[static_cast<std::size_t>(server)];
    const std::int64_t now = fragments(leftover(free, server));
    sum_ += now - own;
    own = now;
  };
  const bool is_known = changes.is_kept() && history_ == changes.history() &&
                        changes.num_changes() - seen_ <= changes.num_kept();
  if (is_known) {
    for (; seen_ < changes.num_changes(); ++seen_) refresh(changes.server(seen_));
  } else {
    of_server_.assign(num_servers, 0);
    sum_ = 0;
    for (ServerId server = 0; server < free.cluster().num_servers(); ++server) refresh(server);
    history_ = changes.history();
    seen_ = changes.num_changes();
  }
  return static_cast<double>(sum_) / static_cast<double>(total_weight_);
}

}  // namespace gpusched
