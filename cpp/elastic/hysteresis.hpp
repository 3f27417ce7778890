#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elastic/elastic_jobs.hpp"

namespace gpusched {

/// The range of free GPUs of each type in which some jobs, one after the other, would all keep
/// their GPUs: enough for all of them, and not enough for any to get more.
class Hysteresis {
 public:
  void begin(int num_types) { types_.assign(static_cast<std::size_t>(num_types), {}); }

  /// Adds the next job, which holds GPUs of one type and keeps them.
  void hold(const Part& held) noexcept { of(held.type).held += held.gpus; }
  /// Requires fewer than this many GPUs of the type to be left at this point.
  void bar(int type, int gpus) noexcept {
    of(type).below = std::min(of(type).below, of(type).held + gpus);
  }
  /// Excludes every outcome.
  void forbid() noexcept { bar(0, 0); }

  [[nodiscard]] bool allow(const ElasticJobs& jobs) const noexcept {
    for (std::size_t type = 0; type < types_.size(); ++type) {
      const std::int64_t left = jobs.left(static_cast<int>(type));
      if (left < types_[type].held || left >= types_[type].below) return false;
    }
    return true;
  }
  /// All of them go on as they are.
  void retain(ElasticJobs& jobs) const noexcept {
    for (std::size_t type = 0; type < types_.size(); ++type) {
      jobs.retain(static_cast<int>(type), types_[type].held);
    }
  }

 private:
  struct OfType {
    std::int64_t held = 0;  // by all of them
    std::int64_t below = std::numeric_limits<std::int64_t>::max();
  };

  [[nodiscard]] OfType& of(int type) noexcept { return types_[static_cast<std::size_t>(type)]; }

  std::vector<OfType> types_;
};

}  // namespace gpusched
