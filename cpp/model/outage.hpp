#pragma once

#include <cstdint>

#include "base/ids.hpp"
#include "base/time.hpp"

namespace gpusched {

/// A server takes no jobs from `start` until `end`, kNever for good.
struct Outage {
  /// Whether it ends the jobs that run there. Files store the numbers.
  enum Kind : std::uint8_t { fail, drain };

  ServerId server;
  Time start;
  Time end;
  Kind kind;
};

}  // namespace gpusched
