#pragma once

#include <algorithm>
#include <cstdint>

#include "model/cluster.hpp"
#include "placing/packing_index.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// What servers of a cluster have at most; each resource that somebody stated counts alike.
class Capacities {
 public:
  Capacities() = default;
  explicit Capacities(const Cluster& cluster);

  /// What is free of a server, each resource as a part of the largest server's, added up.
  [[nodiscard]] double room(const Occupancy& free, ServerId server) const noexcept {
    double sum = static_cast<double>(free_milli(free, server)) / gpu_milli_;
    if (!free.has_demands()) return sum;
    if (cpu_milli_ > 0) sum += part(free.free_cpu_milli(server), cpu_milli_);
    if (memory_mib_ > 0) sum += part(free.free_memory_mib(server), memory_mib_);
    return sum;
  }
  /// The same with each part times what is asked of it.
  class Match;

  /// Of CPU and GPUs alone, as parts of the largest server's, CPU first, on average: what would be
  /// left of the server, and what is free there times what is asked of it.
  [[nodiscard]] double mean_left(const Occupancy& free, ServerId server,
                                 const Ask& ask) const noexcept;
  [[nodiscard]] double mean_match(const Occupancy& free, ServerId server,
                                  const Ask& ask) const noexcept;
  /// Thousandths of the GPUs of the largest server.
  [[nodiscard]] std::int64_t most_gpu_milli() const noexcept {
    return static_cast<std::int64_t>(gpu_milli_);
  }

  /// Thousandths of the GPUs of a server that are free.
  [[nodiscard]] static std::int64_t free_milli(const Occupancy& free, ServerId server) noexcept {
    return free.has_demands() ? free.free_milli(server)
                              : std::int64_t{kWholeGpu} * free.free_gpus(server);
  }

 private:
  /// A server without a limit counts as one that is all free.
  [[nodiscard]] static double part(std::int64_t free, double most) noexcept {
    return std::min(1.0, static_cast<double>(free) / most);
  }

  template <class Term>
  [[nodiscard]] double mean_of_two(const Occupancy& free, ServerId server, const Ask& ask,
                                   Term term) const noexcept;

  double gpu_milli_ = 1;
  double cpu_milli_ = 0;  // 0: nobody stated any
  double memory_mib_ = 0;
};

/// Of one server after the other, for one ask. It does not fall with what is free, rounding
/// included.
class Capacities::Match {
 public:
  Match(const Capacities& capacities, const Occupancy& free, const Ask& ask) noexcept;

  /// Servers with so many free GPUs as this one.
  void enter(ServerId server) noexcept {
    gpus_ = gpus_asked_ * (static_cast<double>(free_milli(free_, server)) / capacities_.gpu_milli_);
  }
  [[nodiscard]] double of(std::int64_t cpu_milli, std::int64_t memory_mib) const noexcept {
    double sum = gpus_;
    if (has_cpu_) sum += cpu_asked_ * part(cpu_milli, capacities_.cpu_milli_);
    if (has_memory_) sum += memory_asked_ * part(memory_mib, capacities_.memory_mib_);
    return sum;
  }

 private:
  const Capacities& capacities_;
  const Occupancy& free_;
  bool has_cpu_;
  bool has_memory_;
  double gpus_asked_;
  double cpu_asked_ = 0;
  double memory_asked_ = 0;
  double gpus_ = 0;
};

}  // namespace gpusched
