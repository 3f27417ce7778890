#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "base/flags.hpp"
#include "base/parameters.hpp"
#include "base/run_control.hpp"
#include "engine/simulation.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "seams/contention.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// What decides a run beside its jobs and its cluster. A plug-in is a registered name with its
/// parameters, or the caller's own, which outlives the run.
struct RunDescription {
  std::variant<std::string, Order*, Scheduler*> policy;
  Parameters::Values policy_values = {};
  /// How the list scheduler treats an order of the caller.
  Flags policy_flags = {};
  std::variant<std::string, Placement*> placement;
  Parameters::Values placement_values = {};
  std::string speed = "fixed";
  Parameters::Values speed_values = {};
  std::string contention = "none";
  Parameters::Values contention_values = {};
  std::uint64_t seed = 0;
  /// After each instant compute all rates anew and compare.
  bool verify = false;

  /// Whether all plug-ins are registered ones.
  [[nodiscard]] bool is_native() const noexcept {
    return std::holds_alternative<std::string>(policy) &&
           std::holds_alternative<std::string>(placement);
  }
};

/// A simulation with the plug-ins that its description names. Jobs, cluster and control outlive it.
class DescribedRun {
 public:
  /// Throws InvalidInput for an unknown name or parameter, and what Simulation throws.
  DescribedRun(const JobTable& jobs, const Cluster& cluster, const RunDescription& description,
               RunControl& control);

  [[nodiscard]] Simulation& simulation() noexcept { return *simulation_; }

 private:
  std::unique_ptr<Placement> placement_;
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<Speed> speed_;
  std::unique_ptr<Contention> contention_;
  std::optional<Simulation> simulation_;
};

}  // namespace gpusched
