#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/demand.hpp"
#include "model/stage_graph.hpp"

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
  /// kNoDeadline: none.
  std::span<const std::int64_t> deadline_us;
  /// What it is worth to meet the deadline.
  std::span<const double> value;
  /// Widths between which a job may run under an elastic speed.
  std::span<const std::int32_t> min_gpus;
  std::span<const std::int32_t> max_gpus;
  /// Index into `demands`, one per job.
  std::span<const std::int32_t> demand;
  std::vector<Demand> demands;
  /// Index into `type_masks`, one per job.
  std::span<const std::int32_t> type_set;
  /// The distinct sets of allowed GPU types as masks over the cluster's types.
  std::vector<TypeMask> type_masks;
  /// Index into the profiles, one per job.
  std::span<const std::int32_t> profile;
  /// Of each profile: bytes of gradients.
  std::span<const double> gradient_bytes;
  /// Of each profile, for each GPU type of the cluster: seconds that an iteration computes; NaN
  /// where that is not known.
  std::span<const double> compute_s;
  /// Of each profile, for each GPU type and each of `table_counts`, ascending: iterations per
  /// second of a gang of that many packed GPUs, and of one on more servers than it needs (may be
  /// empty); 0: it cannot run so.
  std::span<const std::int32_t> table_counts;
  std::span<const double> throughput;
  std::span<const double> spread_throughput;
  /// Of each profile, for each GPU type: samples per second of a worker, 0: it cannot run there;
  /// and the samples per iteration that a worker's memory holds.
  std::span<const double> samples_per_s;
  std::span<const std::int64_t> max_samples;
  /// Of each profile: samples per iteration of all workers.
  std::span<const std::int64_t> global_batch;
  /// Index into the graphs, one per job.
  std::span<const std::int32_t> graph;
  /// First stage of each graph, and at the end the number of stages.
  std::span<const std::int32_t> graph_begin;
  /// Of each stage, see StageGraph; `stage_compute_s` for each GPU type of the cluster.
  std::span<const std::int32_t> replicas;
  std::span<const double> stage_compute_s;
  std::span<const double> activation_bytes;
  std::span<const double> parameter_bytes;
};

/// No worker asks for more CPU or memory, so that sums over a server stay exact.
inline constexpr std::int64_t kMaxDemand = std::int64_t{1} << 40;

/// In the column of deadlines: none.
inline constexpr std::int64_t kNoDeadline = -1;

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
  /// kNever where the job has none.
  [[nodiscard]] Time deadline(JobId job) const noexcept {
    if (columns_.deadline_us.empty() || columns_.deadline_us[job] == kNoDeadline) return kNever;
    return Time{columns_.deadline_us[job]};
  }
  [[nodiscard]] double value(JobId job) const noexcept {
    return columns_.value.empty() ? 1.0 : columns_.value[job];
  }
  /// Least and greatest width under an elastic speed; what the speed can do limits both.
  [[nodiscard]] int min_gpus(JobId job) const noexcept {
    return columns_.min_gpus.empty() ? 1 : columns_.min_gpus[job];
  }
  [[nodiscard]] int max_gpus(JobId job) const noexcept {
    return columns_.max_gpus.empty() ? std::numeric_limits<int>::max() : columns_.max_gpus[job];
  }
  [[nodiscard]] bool has_demands() const noexcept { return !columns_.demand.empty(); }
  /// What the workers ask for beside GPUs; null where no job of the table asks for anything.
  [[nodiscard]] const Demand* demand(JobId job) const noexcept {
    return columns_.demand.empty()
               ? nullptr
               : &columns_.demands[static_cast<std::size_t>(columns_.demand[job])];
  }
  /// Whether a job asks for a part of a GPU.
  [[nodiscard]] bool has_shares() const noexcept { return has_shares_; }
  [[nodiscard]] bool has_profiles() const noexcept { return !columns_.profile.empty(); }
  /// Index of the job's profile; asked only where jobs have profiles.
  [[nodiscard]] int profile(JobId job) const noexcept { return columns_.profile[job]; }
  /// GPU types that the profiles have figures for.
  [[nodiscard]] int num_profile_types() const noexcept {
    return static_cast<int>(profile_stride_);
  }
  /// Bytes of gradients that an iteration reduces.
  [[nodiscard]] double gradient_bytes(JobId job) const noexcept {
    return columns_.gradient_bytes[static_cast<std::size_t>(columns_.profile[job])];
  }
  /// Seconds that an iteration computes on this GPU type of the cluster.
  [[nodiscard]] double compute_s(JobId job, int type) const noexcept {
    return columns_.compute_s[static_cast<std::size_t>(columns_.profile[job]) * profile_stride_ +
                              static_cast<std::size_t>(type)];
  }
  [[nodiscard]] bool has_graphs() const noexcept { return !columns_.graph.empty(); }
  [[nodiscard]] int num_graphs() const noexcept {
    return std::max(0, static_cast<int>(columns_.graph_begin.size()) - 1);
  }
  /// Index of the job's graph; asked only where jobs have graphs.
  [[nodiscard]] int graph(JobId job) const noexcept { return columns_.graph[job]; }
  [[nodiscard]] StageGraph stage_graph(int graph) const noexcept;
  /// GPU types that the stages have figures for.
  [[nodiscard]] int num_graph_types() const noexcept { return static_cast<int>(graph_stride_); }
  [[nodiscard]] bool is_clairvoyant() const noexcept { return columns_.predicted_us.empty(); }
  [[nodiscard]] bool has_restart_costs() const noexcept {
    return !columns_.checkpoint_us.empty() || !columns_.restart_us.empty();
  }
  [[nodiscard]] const JobColumns& columns() const noexcept { return columns_; }

 private:
  /// What reservations and runs of the job count with.
  [[nodiscard]] const char* longest_column(JobId job) const noexcept;
  void check_deadlines() const;
  void check_widths() const;
  void check_demands();
  void check_profiles();
  void check_tables() const;
  void check_graphs();

  JobColumns columns_;
  std::size_t profile_stride_ = 0;
  std::size_t graph_stride_ = 0;
  bool has_shares_ = false;
};

}  // namespace gpusched
