#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/checkpoints.hpp"
#include "model/demand.hpp"
#include "model/job_columns.hpp"
#include "model/stage_graph.hpp"

namespace gpusched {

/// What of another job a job waits for.
enum class Dependency : std::uint8_t { start, end, success, failure };

/// Jobs as columns, sorted by submit; a JobId is a row.
class JobTable {
 public:
  /// Throws InvalidInput that names the column, the row, the value and the rule.
  explicit JobTable(const JobColumns& columns);

  [[nodiscard]] JobId num_jobs() const noexcept {
    return static_cast<JobId>(columns_.submit_us.size());
  }
  [[nodiscard]] Time submit(JobId job) const noexcept { return Time{columns_.submit_us[job]}; }
  /// True run time on an idle cluster.
  [[nodiscard]] Time service(JobId job) const noexcept { return Time{columns_.service_us[job]}; }
  [[nodiscard]] int gpus(JobId job) const noexcept { return columns_.gpus[job]; }
  /// The run time visible to an order: the prediction, else the truth.
  [[nodiscard]] Time predicted(JobId job) const noexcept {
    return Time{columns_.predicted_us.empty() ? columns_.service_us[job]
                                              : columns_.predicted_us[job]};
  }
  /// The run time used by a reservation: the estimate, else the prediction. At least one tick.
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
  /// kNever where the job has none.
  [[nodiscard]] Time time_limit(JobId job) const noexcept {
    if (columns_.time_limit_us.empty() || columns_.time_limit_us[job] == kNoLimit) return kNever;
    return Time{columns_.time_limit_us[job]};
  }
  /// How long a run may take as far as its user said; 0 if not at all.
  [[nodiscard]] Time stated_length(JobId job) const noexcept {
    if (columns_.stated_us.empty() || columns_.stated_us[job] == kNoLimit) return Time{0};
    return Time{columns_.stated_us[job]};
  }
  [[nodiscard]] Checkpoints checkpoints(JobId job) const noexcept {
    if (columns_.checkpoint_every_us.empty()) return {};
    const std::int64_t write_us =
        columns_.checkpoint_write_us.empty() ? 0 : columns_.checkpoint_write_us[job];
    return {Time{columns_.checkpoint_every_us[job]}, Time{write_us}};
  }
  /// Whether writing a checkpoint takes any job time.
  [[nodiscard]] bool has_writes() const noexcept { return has_writes_; }
  /// Failures of servers that the job survives; -1: any number.
  [[nodiscard]] int max_requeues(JobId job) const noexcept {
    return columns_.max_requeues.empty() ? -1 : columns_.max_requeues[job];
  }
  /// Whether the job, once an outage has ended its run, is queued as if it were submitted then.
  [[nodiscard]] bool requeues_back(JobId job) const noexcept {
    return has_requeues_back() && columns_.requeue_back[job] != 0;
  }
  [[nodiscard]] bool has_requeues_back() const noexcept { return !columns_.requeue_back.empty(); }
  /// Whether a run may be ended, or take longer, by one of these.
  [[nodiscard]] bool has_limits() const noexcept {
    return !columns_.time_limit_us.empty() || !columns_.checkpoint_every_us.empty();
  }
  /// Not in the queue before; kNever: held for good.
  [[nodiscard]] Time eligible(JobId job) const noexcept {
    if (columns_.eligible_us.empty()) return submit(job);
    const std::int64_t at = columns_.eligible_us[job];
    return at == kMaxTicks ? kNever : std::max(submit(job), Time{at});
  }
  /// kNever where its user does not cancel the job.
  [[nodiscard]] Time cancel_at(JobId job) const noexcept {
    if (columns_.cancel_at_us.empty() || columns_.cancel_at_us[job] == kNoLimit) return kNever;
    return Time{columns_.cancel_at_us[job]};
  }
  /// Whether jobs that wait for its success count it as failed when it finishes.
  [[nodiscard]] bool exit_failed(JobId job) const noexcept {
    return !columns_.exit_failed.empty() && columns_.exit_failed[job] != 0;
  }
  /// Whether a job may be held, or is cancelled by its user.
  [[nodiscard]] bool has_conditions() const noexcept {
    return !columns_.eligible_us.empty() || !columns_.cancel_at_us.empty() ||
           !columns_.dependency_begin.empty() || !columns_.array_limit.empty();
  }
  /// Under a policy that keeps to it the job goes before all jobs of a higher one.
  [[nodiscard]] std::int32_t precedence(JobId job) const noexcept {
    return columns_.precedence.empty() ? 0 : columns_.precedence[job];
  }
  [[nodiscard]] bool has_precedences() const noexcept { return !columns_.precedence.empty(); }
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
  /// Requests of the workers besides GPUs; null if no job of the table has any.
  [[nodiscard]] const Demand* demand(JobId job) const noexcept {
    return columns_.demand.empty() ? nullptr
                                   : &demands_[static_cast<std::size_t>(columns_.demand[job])];
  }
  /// Whether a job asks for a part of a GPU.
  [[nodiscard]] bool has_shares() const noexcept { return has_shares_; }
  /// Whether a job sets its number of GPUs on each of its servers.
  [[nodiscard]] bool has_gpus_per_node() const noexcept { return has_gpus_per_node_; }
  /// GPUs on each of the job's servers; 0 if any number will do.
  [[nodiscard]] int gpus_per_node(JobId job) const noexcept {
    return columns_.gpus_per_node.empty() ? 0 : columns_.gpus_per_node[job];
  }
  [[nodiscard]] bool has_profiles() const noexcept { return !columns_.profile.empty(); }
  /// Index of the job's profile; only if jobs have profiles.
  [[nodiscard]] int profile(JobId job) const noexcept { return columns_.profile[job]; }
  /// A lower bound: as many as have figures, or as the jobs refer to.
  [[nodiscard]] std::size_t num_profiles() const noexcept { return num_profiles_; }
  /// Bytes of gradients that an iteration reduces; 0 where that is not known.
  [[nodiscard]] double gradient_bytes(JobId job) const noexcept {
    return columns_.gradient_bytes.empty()
               ? 0.0
               : columns_.gradient_bytes[static_cast<std::size_t>(columns_.profile[job])];
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
  /// Index of the job's graph; only if jobs have graphs.
  [[nodiscard]] int graph(JobId job) const noexcept { return columns_.graph[job]; }
  [[nodiscard]] StageGraph stage_graph(int graph) const noexcept;
  [[nodiscard]] bool is_clairvoyant() const noexcept { return columns_.predicted_us.empty(); }
  [[nodiscard]] bool has_restart_costs() const noexcept {
    return !columns_.checkpoint_us.empty() || !columns_.restart_us.empty();
  }
  [[nodiscard]] const JobColumns& columns() const noexcept { return columns_; }

 private:
  /// The longest of the columns used by reservations and runs of the job.
  [[nodiscard]] JobColumn longest_column(JobId job) const noexcept;
  void check_lengths() const;
  void check_ranges() const;
  void check_times() const;
  void check_indices();
  void check_deadlines() const;
  void check_widths() const;
  void read_demands();
  void check_gpus_per_node();
  void check_limits();
  void check_conditions() const;
  void check_profiles();
  void check_graphs();

  JobColumns columns_;
  std::vector<Demand> demands_;
  std::size_t num_profiles_ = 0;
  std::size_t profile_stride_ = 0;
  std::size_t graph_stride_ = 0;
  bool has_shares_ = false;
  bool has_gpus_per_node_ = false;
  bool has_writes_ = false;
};

}  // namespace gpusched
