#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/ids.hpp"
#include "gpusched/network.hpp"

namespace gpusched {

/// The servers of a cluster, how many GPUs each has and of which type, and what connects them.
class Cluster {
 public:
  /// Copies the columns; throws InvalidInput that names the server and the field.
  Cluster(std::span<const std::int32_t> server_gpus, std::span<const std::int32_t> server_type,
          const NetworkColumns& network = {});

  [[nodiscard]] int num_servers() const noexcept { return static_cast<int>(gpus_.size()); }
  [[nodiscard]] int num_types() const noexcept { return static_cast<int>(gpus_of_type_.size()); }
  [[nodiscard]] std::int64_t num_gpus() const noexcept { return num_gpus_; }
  [[nodiscard]] int gpus(ServerId server) const noexcept {
    return gpus_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] int type(ServerId server) const noexcept {
    return types_[static_cast<std::size_t>(server)];
  }
  [[nodiscard]] const Network& network() const noexcept { return network_; }
  /// Every type that some server has.
  [[nodiscard]] TypeMask all_types() const noexcept { return all_types_; }
  /// GPUs of the given types together.
  [[nodiscard]] std::int64_t gpus_of(TypeMask types) const noexcept;
  /// GPUs of the largest server of the given types; 0 if there is none.
  [[nodiscard]] int largest_server(TypeMask types) const noexcept;

 private:
  std::vector<std::int32_t> gpus_;
  std::vector<std::int32_t> types_;
  Network network_;
  std::vector<std::int64_t> gpus_of_type_;
  std::vector<int> largest_of_type_;
  std::int64_t num_gpus_ = 0;
  TypeMask all_types_ = 0;
};

}  // namespace gpusched
