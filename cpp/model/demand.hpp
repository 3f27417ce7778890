#pragma once

#include <compare>
#include <cstdint>

namespace gpusched {

/// Thousandths of a GPU.
inline constexpr std::int32_t kWholeGpu = 1000;

/// What each worker of a gang asks for beside a GPU of its own: a part of one instead, CPU and
/// memory. A worker sits on one GPU; a task without GPUs is one worker.
struct Demand {
  std::int32_t share_milli = kWholeGpu;  ///< less than a whole GPU only in a gang of one
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;

  [[nodiscard]] bool is_share() const noexcept { return share_milli < kWholeGpu; }

  friend auto operator<=>(const Demand&, const Demand&) = default;
};

}  // namespace gpusched
