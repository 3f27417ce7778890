#pragma once

#include <cstdint>

#include "base/flags.hpp"
#include "model/allocation.hpp"
#include "seams/occupancy.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// What a placement is given before a run; the state outlives it.
struct PlacementSetup {
  std::uint64_t seed;
  const State& state;
};

/// Chooses the GPUs of a gang, or refuses for now. The answer may depend on the free GPUs, the
/// width and the allowed types; on the job itself only in which GPUs it names, never in whether
/// it accepts. What is refused stays refused until GPUs are released.
class Placement : public Flagged {
 public:
  virtual ~Placement() = default;

  virtual void begin(const PlacementSetup& /*setup*/) {}

  /// Fills `out` with free GPUs of allowed types, as many as asked for, or returns false.
  virtual bool place(const Occupancy& free, const Request& request, Allocation& out) = 0;

  /// No gang of these types that is wider than this can be placed now. A bound: a narrower gang
  /// may still be refused.
  [[nodiscard]] virtual std::int64_t widest(const Occupancy& free, TypeMask types) const {
    return free.num_free(types);
  }

  /// Whether two jobs of one width and types may be given different GPUs by one state.
  [[nodiscard]] virtual bool allocation_depends_on_job() const { return false; }

  /// Whether a gang that one server could hold, of jobs that ask for more than GPUs, is refused
  /// only where each server alone, by what is free there, refuses it. Then it fits again on no
  /// server but one that has got something back.
  [[nodiscard]] virtual bool is_per_server() const { return false; }

  /// Whether it asks what servers host.
  [[nodiscard]] virtual bool needs_shapes() const { return false; }

  /// Whether it must be told which servers change: where it asks what they host, and where scores
  /// of servers are kept for jobs that say how many GPUs they want of each.
  [[nodiscard]] bool follows_servers(const JobTable& jobs) const {
    return needs_shapes() || (jobs.has_gpus_per_node() && !jobs.has_demands());
  }

  /// Whether the cluster is one pool without servers.
  [[nodiscard]] bool is_pooled() const noexcept { return has(Flag::pooled); }
};

}  // namespace gpusched
