#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "elastic/elastic_jobs.hpp"

namespace gpusched {

/// How many GPUs of each type may be left so that some jobs, one after the other, are each given
/// what they hold: enough for all of them, and for none of them more than that.
class Hysteresis {
 public:
  void begin(int num_types) { types_.assign(static_cast<std::size_t>(num_types), {}); }

  /// The next job, which holds GPUs of one type, keeps them,
  void hold(const Part& held) noexcept { of(held.type).held += held.gpus; }
  /// and before that: it would change if so many GPUs of the type were left,
  void bar(int type, int gpus) noexcept {
    of(type).below = std::min(of(type).below, of(type).held + gpus);
  }
  /// or whatever is left.
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
