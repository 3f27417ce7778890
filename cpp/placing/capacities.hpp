#pragma once

#include <algorithm>
#include <cstdint>

#include "model/cluster.hpp"
#include "placing/packing_index.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// The maximum resources of the servers of a cluster; each stated resource counts alike.
class Capacities {
 public:
  Capacities() = default;
  explicit Capacities(const Cluster& cluster);

  /// Sum of the free resources of a server, each relative to the largest server's.
  [[nodiscard]] double room(const Occupancy& free, ServerId server) const noexcept {
    double sum = static_cast<double>(free_milli(free, server)) / gpu_milli_;
    if (!free.has_demands()) return sum;
    if (cpu_milli_ > 0) sum += part(free.free_cpu_milli(server), cpu_milli_);
    if (memory_mib_ > 0) sum += part(free.free_memory_mib(server), memory_mib_);
    return sum;
  }
  /// The same with each term multiplied by the request for it.
  class Match;

  /// For CPU and GPUs only, relative to the largest server's, CPU first, averaged: the remainder of
  /// the server, and the product of free and requested resources.
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
  double cpu_milli_ = 0;  // 0: not stated
  double memory_mib_ = 0;
};

/// For one server after the other and one ask. Monotone in the free resources, including rounding.
class Capacities::Match {
 public:
  Match(const Capacities& capacities, const Occupancy& free, const Ask& ask) noexcept;

  /// Enters servers with the same number of free GPUs as this one.
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
