#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gpusched/ids.hpp"
#include "gpusched/time.hpp"

namespace gpusched {

/// The columns of a trace, borrowed: their owner outlives the table. Optional columns are empty.
struct JobColumns {
  std::span<const std::int64_t> submit_us;
  std::span<const std::int64_t> service_us;
  std::span<const std::int32_t> gpus;
  std::span<const std::int64_t> predicted_us;
  std::span<const std::int64_t> estimate_us;
  std::span<const std::int64_t> checkpoint_us;
  std::span<const std::int64_t> restart_us;
  std::span<const double> weight;
  /// Index into `type_masks`, one per job.
  std::span<const std::int32_t> type_set;
  /// The distinct sets of allowed GPU types as masks over the cluster's types.
  std::vector<TypeMask> type_masks;
};

/// Jobs as columns, sorted by submit; a JobId is a row.
class JobTable {
 public:
  /// Throws InvalidInput that names the column, the row, the value and the rule.
  explicit JobTable(JobColumns columns);

  [[nodiscard]] JobId num_jobs() const noexcept {
    return static_cast<JobId>(columns_.submit_us.size());
  }
  [[nodiscard]] Time submit(JobId job) const noexcept { return Time{columns_.submit_us[job]}; }
  /// True run time on an idle cluster.
  [[nodiscard]] Time service(JobId job) const noexcept { return Time{columns_.service_us[job]}; }
  [[nodiscard]] int gpus(JobId job) const noexcept { return columns_.gpus[job]; }
  /// What an order may know of the service: the prediction, else the truth.
  [[nodiscard]] Time predicted(JobId job) const noexcept {
    return Time{columns_.predicted_us.empty() ? columns_.service_us[job]
                                              : columns_.predicted_us[job]};
  }
  /// What a reservation counts with: the estimate, else the prediction. At least one tick.
  [[nodiscard]] Time estimate(JobId job) const noexcept {
    return columns_.estimate_us.empty() ? predicted(job) : Time{columns_.estimate_us[job]};
  }
  [[nodiscard]] double weight(JobId job) const noexcept {
    return columns_.weight.empty() ? 1.0 : columns_.weight[job];
  }
  /// Checkpoint and restart cost of one resume.
  [[nodiscard]] Time restart_cost(JobId job) const noexcept {
    Time cost{0};
    if (!columns_.checkpoint_us.empty()) cost += Time{columns_.checkpoint_us[job]};
    if (!columns_.restart_us.empty()) cost += Time{columns_.restart_us[job]};
    return cost;
  }
  /// Allowed GPU types; all bits set where the job may run anywhere.
  [[nodiscard]] TypeMask types(JobId job) const noexcept {
    return columns_.type_set.empty()
               ? ~TypeMask{0}
               : columns_.type_masks[static_cast<std::size_t>(columns_.type_set[job])];
  }
  [[nodiscard]] bool has_types() const noexcept { return !columns_.type_set.empty(); }
  [[nodiscard]] bool is_clairvoyant() const noexcept { return columns_.predicted_us.empty(); }
  [[nodiscard]] bool has_restart_costs() const noexcept {
    return !columns_.checkpoint_us.empty() || !columns_.restart_us.empty();
  }
  [[nodiscard]] const JobColumns& columns() const noexcept { return columns_; }

 private:
  JobColumns columns_;
};

}  // namespace gpusched
