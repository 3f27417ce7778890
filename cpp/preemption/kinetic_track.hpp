#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "listing/running_index.hpp"
#include "model/job_classes.hpp"
#include "preemption/kinetic_key.hpp"
#include "seams/order.hpp"

namespace gpusched {

/// Jobs whose keys move alike: factor * (base + slope * now), by which they are sorted. Where lines
/// are loose these are bounds instead, from above of the keys of who is taken, and from below of
/// those of who is passed over.
struct KineticTrack {
  std::int64_t factor;
  int slope;
  bool is_asked;  // of jobs that wait
  bool is_left;   // of jobs that a filling's prefix has and its budget does not reach
  bool is_loose;
  bool is_unbounded;  // and keys fall: those of who is passed over have no bound
  RunningIndex taken;
  std::vector<RunningIndex> passed;  // by `passed_at`, of those that change sides alike
  std::size_t first_group;           // of those that were passed over

  [[nodiscard]] int slope_of(bool is_taken) const noexcept {
    if (!is_loose) return slope;
    return kMostLoose * (is_taken ? std::max(0, slope) : std::min(0, slope));
  }
  /// Where a job is sorted whose key is known at this instant, without its factor.
  [[nodiscard]] Time base(std::int64_t value, Time now, bool is_taken) const noexcept {
    if (is_unbounded && !is_taken) return Time{0};
    return Time{value} - slope_of(is_taken) * now;
  }

  /// Where the width is the factor of the keys there is no other one.
  [[nodiscard]] std::uint16_t passed_at(std::uint16_t width) const noexcept {
    return factor == 1 ? width : std::uint16_t{0};
  }
  [[nodiscard]] std::size_t group_of(std::uint16_t width) const noexcept {
    return first_group + passed_at(width);
  }
};

/// Jobs that are not taken, of which none is before the first: those of a class that wait, of a width
/// where classes are many, or those of a track and a width that were passed over.
struct KineticGroup {
  std::uint32_t waiting;
  std::uint16_t track;
  std::uint16_t width;
};

/// A job that is neither asked for nor taken: a class's least that waits, or the first that was
/// passed over of a track and a width.
struct KineticCandidate {
  KineticKey key{0, kNoJob};
  int gpus = 0;
  ClassId waiting = JobClasses::kNoClass;
  std::uint16_t track = 0;
  std::uint16_t width = 0;
};

/// Where a running job is kept, by its slot.
struct KineticPlace {
  Time base;
  JobId job = kNoJob;
  std::uint32_t stamp = 0;  // counts what the slot was given
  std::uint16_t track = 0;
  std::uint16_t width = 0;
  bool is_taken = false;
  std::uint64_t rejoined = 0;  // the settlement at which it was last taken again
};

/// When the line of what a slot was given bends.
struct KineticBend {
  Time at;
  std::uint32_t slot;
  std::uint32_t stamp;

  friend bool operator<(const KineticBend& a, const KineticBend& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.slot < b.slot;
  }
};

}  // namespace gpusched
