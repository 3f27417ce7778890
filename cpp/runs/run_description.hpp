#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/clone.hpp"
#include "base/flags.hpp"
#include "base/parameters.hpp"
#include "base/run_control.hpp"
#include "engine/simulation.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "model/outage.hpp"
#include "seams/contention.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// The configuration of a run besides its jobs and cluster. A plug-in is a registered name with its
/// parameters, or the caller's own, which outlives the run.
struct RunDescription {
  std::variant<std::string, Order*, Scheduler*> policy;
  Parameters::Values policy_values = {};
  /// What messages call the policy, if not by its registered name.
  std::string policy_label = {};
  /// How the list scheduler treats an order of the caller.
  Flags policy_flags = {};
  std::variant<std::string, Placement*> placement;
  Parameters::Values placement_values = {};
  std::string speed = "fixed";
  Parameters::Values speed_values = {};
  std::string contention = "none";
  Parameters::Values contention_values = {};
  std::uint64_t seed = 0;
  /// After each instant recompute all rates and compare.
  bool verify = false;
  std::vector<Outage> outages = {};
  /// A job whose dependencies can never be met is cancelled.
  bool kill_invalid_depend = false;
  /// See Simulation::limit_intervals.
  std::size_t max_intervals = std::numeric_limits<std::size_t>::max();

  /// Whether all plug-ins are registered ones.
  [[nodiscard]] bool is_native() const noexcept {
    return std::holds_alternative<std::string>(policy) &&
           std::holds_alternative<std::string>(placement);
  }
};

/// A simulation with the plug-ins that its description names. Jobs, cluster and control outlive it.
class DescribedRun {
 public:
  /// Throws InvalidInput for an unknown name or parameter, and what Simulation throws; `snapshot`
  /// as there.
  DescribedRun(const JobTable& jobs, const Cluster& cluster, const RunDescription& description,
               RunControl& control, const Snapshot* snapshot = nullptr);

  [[nodiscard]] Simulation& simulation() noexcept { return *simulation_; }
  [[nodiscard]] const Simulation& simulation() const noexcept { return *simulation_; }
  /// The setup of its scheduler.
  [[nodiscard]] Setup setup() const noexcept {
    return {simulation_->state(), *placing_, seed_, *control_};
  }

  /// Switches to the policy of `described`, which must equal this run's configuration in all else,
  /// at `at`; see Simulation::hand_over. Throws InvalidInput, without a change, if the policy
  /// refuses the run; a caller's scheduler may refuse only when it begins.
  void hand_over(const RunDescription& described, Time at);

  /// An independent copy of the run at this point, with copies of all plug-ins. Objects of the
  /// caller in `described` replace those of this run and must be in the same state. Jobs and
  /// cluster are shared.
  [[nodiscard]] std::unique_ptr<DescribedRun> fork(const RunDescription& described,
                                                   RunControl& control) const;

 private:
  friend class Cloning;
  DescribedRun(const DescribedRun&) = default;

  /// The deciding plug-ins. Referred-to members are declared first, here and below.
  struct Deciding {
    Owned<Scheduler> own;
    Ref<Scheduler> scheduler;  // that, or the caller's
    Ref<Order> order;          // the caller's
  };

  [[nodiscard]] Deciding make_policy(const JobTable& jobs, const RunDescription& description) const;

  Ref<RunControl> control_;
  std::uint64_t seed_;
  Owned<Speed> speed_;
  Owned<Contention> contention_;
  Owned<Placement> placement_;
  Ref<Placement> placing_;  // that, or the caller's
  Deciding deciding_;
  std::optional<Simulation> simulation_;
};

}  // namespace gpusched
