#pragma once

#include <cstdint>

#include "base/ids.hpp"

namespace gpusched {

/// A key at the present instant. The job of a lesser one goes first.
struct KineticKey {
  std::int64_t value;
  JobId job;

  friend bool operator<(const KineticKey& a, const KineticKey& b) noexcept {
    return a.value != b.value ? a.value < b.value : a.job < b.job;
  }
};

}  // namespace gpusched
