#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// A server takes no jobs from `start` until `end`, kNever for good.
struct Outage {
  /// Failures and maintenance end the runs of the jobs there. Files store the numbers.
  enum Kind : std::uint8_t { fail, drain, maint };
  static constexpr int kNumKinds = 3;

  ServerId server;
  Time start;
  Time end;
  Kind kind;
  /// From when policies know of maintenance; never before it begins unless it is earlier.
  Time known = kNever;

  [[nodiscard]] bool is_known_ahead() const noexcept { return known < start; }
};

}  // namespace gpusched
