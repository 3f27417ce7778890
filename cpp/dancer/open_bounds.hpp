#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"
#include "dancer/jobs.hpp"
#include "dancer/open_jobs.hpp"
#include "deadlines/planner.hpp"

namespace gpusched {

/// What most open jobs can be passed over by at a border: bounds that are found once for all jobs
/// with the same configurations.
class OpenBounds {
 public:
  void begin();
  /// At present prices.
  void open(const DeadlinePlanner& planner, const ConfigurationSets& sets);
  /// No plan of the job costs less.
  [[nodiscard]] double least_cost(const OpenJob& job);
  /// Whether the job could meet its deadline with all GPUs together.
  [[nodiscard]] bool is_in_time(const OpenJob& job, Time now);

  /// GPUs are handed out that are left by type.
  void leave(std::span<const std::int64_t> spare);
  /// Whether some of these could meet the job's deadline.
  [[nodiscard]] bool might_rescue(const OpenJob& job, Time now);
  /// Whether the job can run on some of these.
  [[nodiscard]] bool might_run(const OpenJob& job) { return greatest_rate_left(job.set) > 0.0; }

 private:
  struct Bound {
    double greatest_rate = 0.0;
    double price = 0.0;  ///< of service, at least
    std::uint64_t priced = 0;  ///< the border at which that was found
    double left = 0.0;  ///< the greatest rate on the GPUs that are left
    std::uint64_t counted = 0;  ///< the change of these at which that was found
  };

  [[nodiscard]] double greatest_rate_left(std::uint32_t set);

  Ref<const DeadlinePlanner> planner_;
  Ref<const ConfigurationSets> sets_;
  std::vector<Bound> bounds_;  // by set
  std::vector<std::int64_t> spare_;
  std::uint64_t num_borders_ = 0;
  std::uint64_t num_changes_ = 0;
};

}  // namespace gpusched
