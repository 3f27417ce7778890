#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>


#include "base/parameters.hpp"
#include "data.hpp"
#include "engine/simulation.hpp"
#include "seams/contention.hpp"
#include "seams/named.hpp"
#include "seams/order.hpp"
#include "seams/placement.hpp"
#include "seams/scheduler.hpp"
#include "seams/speed.hpp"

namespace gpusched::bindings {

/// A simulation with all that it borrows, but for the objects of Python: whoever makes it keeps
/// those alive.
class Run {
 public:
  using PolicyArgument = std::variant<std::string, Order*, Scheduler*>;
  using PlacementArgument = std::variant<std::string, Placement*>;

  Run(const OwnedJobTable& jobs, const Cluster& cluster, PolicyArgument policy,
      const Parameters::Values& policy_values, const std::vector<std::string>& flags,
      PlacementArgument placement, const Parameters::Values& placement_values, std::uint64_t seed,
      RunControl* control, const std::string& speed, const Parameters::Values& speed_values,
      const std::string& contention, const Parameters::Values& contention_values, bool verify);

  /// Handles all instants before the arrival of job `num_jobs`.
  void advance(std::uint64_t num_jobs);
  /// The jobs that have finished in `advance` since the last call, and when.
  std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> take_finished();
  /// Goes on to the end.
  Schedule finish();
  /// What was done until a stop, once: what held GPUs held them until then.
  Schedule so_far();

 private:
  enum class Phase : std::uint8_t { halted, working, stopped, over };

  template <class Work>
  void guarded(Work work);
  void check_open() const;

  const JobTable& jobs_;
  bool is_native_;
  // Read and written with the GIL only.
  Phase phase_ = Phase::halted;
  std::unique_ptr<Placement> own_placement_;
  std::unique_ptr<Scheduler> own_scheduler_;
  std::unique_ptr<Speed> speed_;
  std::unique_ptr<Contention> contention_;
  RunControl own_control_;
  RunControl& control_;
  std::unique_ptr<Simulation> simulation_;
  std::vector<std::int64_t> finished_;
  std::vector<std::int64_t> finish_us_;
};

}  // namespace gpusched::bindings
