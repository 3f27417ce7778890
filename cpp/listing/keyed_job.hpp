#pragma once

#include "base/ids.hpp"
#include "base/infinity.hpp"

namespace gpusched {

/// A job and its key; ties go to the lower JobId.
struct KeyedJob {
  double key;
  JobId job;

  friend bool operator<(const KeyedJob& a, const KeyedJob& b) noexcept {
    return a.key != b.key ? a.key < b.key : a.job < b.job;
  }
};

/// Comes after every job.
inline constexpr KeyedJob kNoKeyedJob{kInfinity, kNoJob};

}  // namespace gpusched
