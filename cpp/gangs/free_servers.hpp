#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.hpp"
#include "base/index_set.hpp"
#include "model/cluster.hpp"

namespace gpusched {

/// The types that jobs may use, and their width.
using JobKind = std::pair<TypeMask, int>;

/// Servers that belong together, and how many GPUs they have.
struct ServerSet {
  std::vector<ServerId> servers;
  std::int64_t gpus = 0;

  /// None, but for the memory.
  void clear() noexcept {
    servers.clear();
    gpus = 0;
  }
};

/// Servers without an owner.
class FreeServers {
 public:
  void begin(const Cluster& cluster);

  /// The first servers of a type that hold the job, or of several types if no single type fits it.
  /// One server that holds the job is preferred to several before it.
  [[nodiscard]] std::optional<ServerSet> take(const Cluster& cluster, const JobKind& kind);
  void give_back(const Cluster& cluster, ServerSet set);

 private:
  [[nodiscard]] std::optional<ServerSet> take_of(const Cluster& cluster, TypeMask types, int gpus);
  /// The first one of these types behind `after`; -1 if there is none.
  [[nodiscard]] ServerId next(TypeMask types, ServerId after) const noexcept;

  std::vector<IndexSet> servers_;   // of each type
  std::vector<std::int64_t> gpus_;  // theirs
  std::vector<ServerSet> spare_;    // memory for sets
};

}  // namespace gpusched
