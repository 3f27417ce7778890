#pragma once

#include <cstdint>

#include "base/flags.hpp"
#include "model/allocation.hpp"
#include "seams/occupancy.hpp"
#include "seams/state.hpp"

namespace gpusched {

class WindowPlacement;

/// The inputs of a placement before a run; the state outlives it.
struct PlacementSetup {
  std::uint64_t seed;
  const State& state;
};

/// Chooses the GPUs of a job, or refuses for now. Whether it accepts may depend on the free GPUs,
/// the width and the allowed types, but not on the job itself; the choice of GPUs may. A refusal
/// holds until GPUs are released.
class Placement : public Flagged {
 public:
  virtual ~Placement() = default;

  virtual void begin(const PlacementSetup& /*setup*/) {}

  /// Fills `out` with the requested number of free GPUs of allowed types, or returns false.
  virtual bool place(const Occupancy& free, const Request& request, Allocation& out) = 0;

  /// Itself where maintenance is known ahead.
  [[nodiscard]] virtual WindowPlacement* windows() { return nullptr; }

  /// An upper bound: no larger job of these types can be placed now. A smaller one may still be
  /// refused.
  [[nodiscard]] virtual std::int64_t widest(const Occupancy& free, TypeMask types) const {
    return free.num_free(types);
  }

  /// Whether two jobs of one width and types may be given different GPUs by one state.
  [[nodiscard]] virtual bool allocation_depends_on_job() const { return false; }

  /// Whether a job with demands that one server could hold is refused only if each server alone, by
  /// its free resources, refuses it. Then a refused job fits again only on a server with released
  /// resources.
  [[nodiscard]] virtual bool is_per_server() const { return false; }

  /// Whether it asks what servers host.
  [[nodiscard]] virtual bool needs_shapes() const { return false; }

  /// Whether it needs a log of server changes: if it reads the jobs on servers, or caches server
  /// scores for jobs with `gpus_per_node`.
  [[nodiscard]] bool follows_servers(const JobTable& jobs) const {
    return needs_shapes() || (jobs.has_gpus_per_node() && !jobs.has_demands());
  }

  /// Whether the cluster is one pool without servers.
  [[nodiscard]] bool is_pooled() const noexcept { return has(Flag::pooled); }
};

}  // namespace gpusched
