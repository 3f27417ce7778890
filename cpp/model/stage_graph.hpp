#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gpusched {

/// A job as pipeline stages with replicas each, borrowed from the columns of a trace. Replicas are
/// numbered stage by stage; each is one worker of the job.
struct StageGraph {
  std::span<const std::int32_t> replicas;
  /// Bytes that a stage sends to the next in an iteration; equally many gradients come back.
  std::span<const double> activation_bytes;
  /// Bytes of parameters, which the replicas of a stage all-reduce.
  std::span<const double> parameter_bytes;
  /// Seconds per replica and iteration, forward and backward, by stage and then GPU type; NaN
  /// where a type has no figure.
  std::span<const double> compute_s;
  std::size_t num_types;

  [[nodiscard]] std::size_t num_stages() const noexcept { return replicas.size(); }
  [[nodiscard]] double seconds(std::size_t stage, int type) const noexcept {
    return compute_s[stage * num_types + static_cast<std::size_t>(type)];
  }
};

}  // namespace gpusched
