#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/flags.hpp"
#include "base/run_control.hpp"
#include "seams/actions.hpp"
#include "seams/decision.hpp"
#include "seams/placement.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// The events of the present instant, each list by JobId.
struct Instant {
  std::span<const JobId> finished;
  std::span<const JobId> arrived;
  /// Whether any GPUs were released: refused jobs may fit now. The occupancy knows which ones.
  bool has_released;
  /// Whether GPUs went down or came back since the last instant.
  bool has_other_gpus = false;
};

/// The inputs of a scheduler before a run; all of it outlives the run.
struct Setup {
  const State& state;
  Placement& placement;
  std::uint64_t seed;
  const RunControl& control;
};

/// Decides which jobs hold which GPUs from now on, and when to decide next. One call per instant,
/// after its finishes and arrivals were applied. Rejected jobs are never shown.
class Scheduler : public Flagged {
 public:
  virtual ~Scheduler() = default;

  virtual void begin(const Setup& setup) = 0;
  virtual void decide(const State& state, const Instant& instant, Actions& actions) = 0;
  /// Whether it chooses GPUs itself, so that the run's placement is never used. Then a job is
  /// rejected only if it is larger than all servers that it may use.
  [[nodiscard]] bool chooses_gpus() const noexcept { return has(Flag::places); }
  [[nodiscard]] virtual RestartRule restart_rule() const { return {}; }
  /// A job that waits is taken back: it forgets the job, between two decisions. False, and nothing
  /// is changed, if it cannot. A job that was only held arrives again.
  [[nodiscard]] virtual bool withdraw(const State& /*state*/, JobId /*job*/) { return false; }
  /// Called after `begin` in a run that starts from a snapshot: jobs run that it did not start. The
  /// first decision gets the waiting jobs as arrived. False if it decides by more than the state.
  [[nodiscard]] virtual bool adopt(const State& /*state*/) { return false; }
  /// Whether it can go on when servers go down or come back: a job whose server fails is shown among
  /// the finished and the arrived of one instant.
  [[nodiscard]] virtual bool takes_outages() const { return has(Flag::outages); }
  /// Whether it can go on where the placement refuses a job because of what is to come: a refused
  /// job is refused until GPUs are released, and what is promised for later is asked of
  /// WindowPlacement.
  [[nodiscard]] virtual bool takes_windows() const { return false; }
  /// Every job that it admitted or turned down, in the order of the decisions.
  [[nodiscard]] virtual std::vector<Decision> decisions() const { return {}; }
  /// Warnings for the result, one sentence each.
  [[nodiscard]] virtual std::vector<std::string> warnings() const { return {}; }
};

}  // namespace gpusched
