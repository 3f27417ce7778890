#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "model/network.hpp"

namespace gpusched {

/// Resources of servers besides GPUs. Each column may be empty: unlimited, and no server is a part
/// of another.
struct CapacityColumns {
  /// Negative: unlimited.
  std::span<const std::int64_t> cpu_milli;
  std::span<const std::int64_t> memory_mib;
  /// A server with GPUs of several types is one part per type: the index of its first part, whose
  /// CPU and memory all parts share.
  std::span<const std::int32_t> part_of = {};
};

/// The servers of a cluster, with number and type of their GPUs, and the network.
class Cluster {
 public:
  /// Copies the columns; throws InvalidInput that names the server and the field.
  Cluster(std::span<const std::int32_t> server_gpus, std::span<const std::int32_t> server_type,
          const NetworkColumns& network = {}, const CapacityColumns& capacity = {});

  [[nodiscard]] int num_servers() const noexcept { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int num_types() const noexcept { return static_cast<int>(gpus_of_type_.size()); }
  [[nodiscard]] std::int64_t num_gpus() const noexcept { return num_gpus_; }
  [[nodiscard]] int gpus(ServerId server) const noexcept {
    return gpus_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] int type(ServerId server) const noexcept {
    return types_[static_cast<std::size_t>(server)];
  }
  /// Unlimited where it was not stated.
  [[nodiscard]] std::int64_t cpu_milli(ServerId server) const noexcept {
    return cpu_milli_.empty() ? kUnlimited : cpu_milli_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] std::int64_t memory_mib(ServerId server) const noexcept {
    return memory_mib_.empty() ? kUnlimited : memory_mib_[static_cast<std::size_t>(server)];
  }
  /// Whether some server has GPUs of several types.
  [[nodiscard]] bool has_parts() const noexcept { return !part_of_.empty(); }
  /// The first of the parts of the same server, or itself.
  [[nodiscard]] ServerId part_of(ServerId server) const noexcept {
    return part_of_.empty() ? server : part_of_[static_cast<std::size_t>(server)];
  }
  /// Visits all parts of the same server.
  template <class Visit>
  void for_each_part(ServerId server, Visit visit) const {
    if (part_of_.empty()) {
      visit(server);
      return;
    }
    for (ServerId part = part_of(server); part >= 0;
         part = next_part_[static_cast<std::size_t>(part)]) {
      visit(part);
    }
  }
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  /// Every type that some server has.
  [[nodiscard]] TypeMask all_types() const noexcept { return all_types_; }
  /// GPUs of the given types together.
  [[nodiscard]] std::int64_t gpus_of(TypeMask types) const noexcept;
  /// GPUs available to one job: on servers with several types it gets GPUs of one.
  [[nodiscard]] std::int64_t gpus_of_gang(TypeMask types) const noexcept;
  /// Servers of the given types with at least this many GPUs, which one job may use together.
  [[nodiscard]] int num_servers_of(TypeMask types, int least_gpus) const noexcept;
  /// GPUs of the largest server of the given types; 0 if there is none.
  [[nodiscard]] int largest_server(TypeMask types) const noexcept {
    return (all_types_ & ~types) == 0 ? largest_ : largest_of(types);
  }

  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

 private:
  void read_capacity(const CapacityColumns& capacity);
  void read_parts(std::span<const std::int32_t> part_of);
  [[nodiscard]] int largest_of(TypeMask types) const noexcept;

  std::vector<std::int32_t> gpus_;
  std::vector<std::int32_t> types_;
  std::vector<std::int64_t> cpu_milli_;
  std::vector<std::int64_t> memory_mib_;
  std::vector<std::int32_t> part_of_;    // empty: each server has GPUs of one type
  std::vector<std::int32_t> next_part_;  // of the same server; -1: none
  Network network_;
  std::vector<std::int64_t> gpus_of_type_;
  std::vector<int> largest_of_type_;
  std::int64_t num_gpus_ = 0;
  int largest_ = 0;
  TypeMask all_types_ = 0;
};

}  // namespace gpusched
