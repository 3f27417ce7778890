#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.hpp"

namespace gpusched {

/// How a job checkpoints by itself: after each `every` of work it writes for `write`, but not after
/// its last work. `every` 0: never.
struct Checkpoints {
  Time every{0};
  Time write{0};

  /// What a run has come to when it is ended.
  struct Progress {
    Time done{0};     ///< work
    Time written{0};  ///< time that writes took
    Time saved{0};    ///< the part of the work that the last complete checkpoint holds
  };

  /// Writes during so much work.
  [[nodiscard]] std::int64_t writes_in(Time work) const noexcept {
    return every == Time{0} || work <= every ? 0 : (work - kTick) / every;
  }
  /// The time that so much work takes, writes included.
  [[nodiscard]] Time length_of(Time work) const noexcept { return work + write * writes_in(work); }
  /// The work that takes so long.
  [[nodiscard]] Time work_in(Time length) const noexcept {
    if (write == Time{0} || length <= Time{0}) return length;
    return length - write * ((length - kTick) / (every + write));
  }
  /// After `elapsed` of a run that began with so much work, restarts left out.
  [[nodiscard]] Progress after(Time elapsed, Time work) const noexcept {
    if (elapsed <= Time{0}) return {};
    if (every == Time{0}) return {.done = elapsed};
    const std::int64_t writes = writes_in(work);
    const std::int64_t whole = std::min<std::int64_t>(elapsed / (every + write), writes);
    Time written = write * whole;
    if (whole < writes) {
      const Time rest = elapsed - (every + write) * whole;
      written += std::clamp(rest - every, Time{0}, write);
    }
    return {.done = elapsed - written, .written = written, .saved = every * whole};
  }
};

}  // namespace gpusched
