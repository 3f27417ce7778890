#pragma once

#include <cstdint>

#include "seams/state.hpp"

namespace gpusched {

/// An order's view: the state, and the run's seed.
class QueueView {
 public:
  QueueView(const State& state, std::uint64_t seed) : state_(state), seed_(seed) {}

  [[nodiscard]] const State& state() const noexcept { return state_; }
  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  [[nodiscard]] Time now() const noexcept { return state_.now(); }
  [[nodiscard]] Time submit(JobId job) const noexcept { return state_.jobs().submit(job); }
  [[nodiscard]] int gpus(JobId job) const noexcept { return state_.jobs().gpus(job); }
  [[nodiscard]] double weight(JobId job) const noexcept { return state_.jobs().weight(job); }
  /// kNever where the job has none.
  [[nodiscard]] Time deadline(JobId job) const noexcept { return state_.jobs().deadline(job); }
  /// The value of meeting the deadline.
  [[nodiscard]] double value(JobId job) const noexcept { return state_.jobs().value(job); }
  [[nodiscard]] Time predicted(JobId job) const noexcept { return state_.jobs().predicted(job); }
  /// Ticks that the job is expected to run on an otherwise empty cluster where a good placement
  /// puts it: the predicted service, which counts with the best that any placement could do.
  [[nodiscard]] double predicted_duration(JobId job) const {
    const auto ticks = static_cast<double>(predicted(job).count());
    if (state_.speed().is_fixed()) return ticks;
    const IterationLimits limits = state_.speed().limits(job);
    return ticks * (limits.min / limits.low);
  }
  [[nodiscard]] Time remaining(JobId job) const noexcept { return state_.remaining(job); }
  [[nodiscard]] Time attained(JobId job) const noexcept { return state_.attained(job); }

 private:
  const State& state_;
  std::uint64_t seed_;
};

}  // namespace gpusched
