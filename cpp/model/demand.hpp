#pragma once

#include <compare>
#include <cstdint>

namespace gpusched {

/// Thousandths of a GPU.
inline constexpr std::int32_t kWholeGpu = 1000;

/// The request of each worker of a job besides a GPU of its own: a share of a GPU instead, CPU and
/// memory. A worker uses one GPU; a task without GPUs is one worker.
struct Demand {
  std::int32_t share_milli = kWholeGpu;  ///< below a whole GPU only in a 1-GPU job
  std::int64_t cpu_milli = 0;
  std::int64_t memory_mib = 0;

  [[nodiscard]] bool is_share() const noexcept { return share_milli < kWholeGpu; }

  friend auto operator<=>(const Demand&, const Demand&) = default;
};

}  // namespace gpusched
