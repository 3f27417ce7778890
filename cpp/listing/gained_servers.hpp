#pragma once

#include <cstdint>
#include <vector>

#include "listing/class_tree.hpp"
#include "placing/hosts.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// The servers that have changed since everything that waits was judged. What was refused then,
/// by each server alone, can fit on no other.
class GainedServers {
 public:
  /// All that waits has been judged by now.
  void settle(const Occupancy& free) noexcept { seen_ = free.changes().num_changes(); }
  /// Finds the servers that have changed since.
  void collect(const Occupancy& free);

  /// No class that one of them could host needs more than this, beside at most `room` free GPUs.
  [[nodiscard]] ClassTree::Most most(const Occupancy& free, std::int64_t room) const noexcept;
  /// Whether one of them can host the ask.
  [[nodiscard]] bool can_host(const Occupancy& free, const Ask& ask) const noexcept;

 private:
  std::uint64_t seen_ = 0;
  bool are_too_many_ = false;  // each may be one of them
  std::vector<ServerId> servers_;
};

}  // namespace gpusched
