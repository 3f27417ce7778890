#pragma once

#include "base/flags.hpp"

namespace gpusched {

/// A job's demand on one link.
struct LinkUse {
  double bytes_per_s;  ///< of the link
  double fraction;     ///< the ring's GPUs behind the link over all GPUs behind it
  int num_rings;       ///< rings on the link, this one among them
};

/// How multi-server jobs share the bandwidth of a link. Part of the speed interface: a performance
/// model turns the shares into an iteration time.
class Contention : public Flagged {
 public:
  virtual ~Contention() = default;

  /// Whether shares move when other rings come and go. If so `share` must not read `fraction`.
  [[nodiscard]] bool is_shared() const noexcept { return has(Flag::interacting); }

  /// Bytes per second for one ring. Must not grow with `num_rings`, nor exceed the link.
  [[nodiscard]] virtual double share(const LinkUse& use) const = 0;
};

}  // namespace gpusched
