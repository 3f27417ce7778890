#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "model/network.hpp"

namespace gpusched {

/// What servers have beside GPUs. Each column may be empty: as much as anybody asks for.
struct CapacityColumns {
  /// Negative: unlimited.
  std::span<const std::int64_t> cpu_milli;
  std::span<const std::int64_t> memory_mib;
};

/// The servers of a cluster, how many GPUs each has and of which type, and what connects them.
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
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  /// Every type that some server has.
  [[nodiscard]] TypeMask all_types() const noexcept { return all_types_; }
  /// GPUs of the given types together.
  [[nodiscard]] std::int64_t gpus_of(TypeMask types) const noexcept;
  /// Servers of the given types with so many GPUs and more.
  [[nodiscard]] int num_servers_of(TypeMask types, int least_gpus) const noexcept;
  /// GPUs of the largest server of the given types; 0 if there is none.
  [[nodiscard]] int largest_server(TypeMask types) const noexcept {
    return (all_types_ & ~types) == 0 ? largest_ : largest_of(types);
  }

  static constexpr std::int64_t kUnlimited = std::int64_t{1} << 62;

 private:
  void read_capacity(const CapacityColumns& capacity);
  [[nodiscard]] int largest_of(TypeMask types) const noexcept;

  std::vector<std::int32_t> gpus_;
  std::vector<std::int32_t> types_;
  std::vector<std::int64_t> cpu_milli_;
  std::vector<std::int64_t> memory_mib_;
  Network network_;
  std::vector<std::int64_t> gpus_of_type_;
  std::vector<int> largest_of_type_;
  std::int64_t num_gpus_ = 0;
  int largest_ = 0;
  TypeMask all_types_ = 0;
};

}  // namespace gpusched
