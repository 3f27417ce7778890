#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/demand.hpp"

namespace gpusched {

/// Dimensions of a column, row-major (last varies fastest).
enum class Per : std::uint8_t {
  job,
  job_and_end,
  type_set,
  demand,
  profile,
  profile_and_type,
  count,
  profile_type_and_count,
  graph_and_end,
  stage,
  stage_and_type,
  dependency,
  array,
};

/// The allowed values of a column, each taken alone.
struct ValueRange {
  const char* rule;
  std::int64_t least = 0;
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool excludes_least = false;
  bool may_be_unknown = false;  ///< NaN: unknown
};

/// No worker asks for more CPU or memory, so that sums over a server stay exact.
inline constexpr std::int64_t kMaxDemand = std::int64_t{1} << 40;

/// In the column of deadlines: none.
inline constexpr std::int64_t kNoDeadline = -1;
/// In the columns of limits: none.
inline constexpr std::int64_t kNoLimit = -1;

namespace ranges {

inline constexpr ValueRange kCount{"at least 0"};
inline constexpr ValueRange kPositiveCount{"at least 1", 1};
inline constexpr ValueRange kRunTime{"1 to 2^53 microseconds are allowed", 1, kMaxServiceTicks};
inline constexpr ValueRange kCost{"0 to 2^53 microseconds are allowed", 0, kMaxServiceTicks};
inline constexpr ValueRange kTimeLimit{"1 to 2^53 microseconds are allowed, or -1", kNoLimit,
                                       kMaxServiceTicks};
inline constexpr ValueRange kRequeues{"at least 0, or -1", kNoLimit};
inline constexpr ValueRange kWidth{"at least 1"};  // 0 if there are demands
inline constexpr ValueRange kLeastWidth{"1 to gpus", 1};
inline constexpr ValueRange kGreatestWidth{"at least gpus"};
inline constexpr ValueRange kDeadline{"after the submit and below 2^62 microseconds, or -1",
                                      kNoDeadline, kMaxTicks - 1};
inline constexpr ValueRange kEligible{"from the submit to 2^62 microseconds, or -1", kNoLimit,
                                      kMaxTicks};
inline constexpr ValueRange kFlag{"0 or 1", 0, 1};
inline constexpr ValueRange kOffset{"ascending from 0"};
inline constexpr ValueRange kTarget{"another job"};
inline constexpr ValueRange kDependencyKind{"0 (after) to 3 (afternotok)", 0, 3};
inline constexpr ValueRange kDelay{"0 to 2^53 microseconds, and 0 unless the kind is after", 0,
                                   kMaxServiceTicks};
inline constexpr ValueRange kArrayIndex{"an index into the arrays, or -1", -1};
inline constexpr ValueRange kArrayLimit{"at least 1, or -1", kNoLimit};
inline constexpr ValueRange kPrecedence{"at least 0", 0};
inline constexpr ValueRange kPositive{.rule = "positive and finite", .excludes_least = true};
inline constexpr ValueRange kNotNegative{"finite and at least 0"};
inline constexpr ValueRange kSeconds{.rule = "positive and finite",
                                     .excludes_least = true,
                                     .may_be_unknown = true};
inline constexpr ValueRange kShare{"1 to 1000", 1, kWholeGpu};
inline constexpr ValueRange kDemand{"0 to 2^40", 0, kMaxDemand};
inline constexpr ValueRange kAscending{"positive and ascending", 1};
inline constexpr ValueRange kBegin{"each graph has at least one stage"};
inline constexpr ValueRange kGpusPerNode{"0, or a divisor of gpus"};
inline constexpr ValueRange kMask{"a bit for each GPU type of the cluster"};
inline constexpr ValueRange kTypeSetIndex{"an index into the type sets"};
inline constexpr ValueRange kDemandIndex{"an index into the demands"};
inline constexpr ValueRange kProfileIndex{"an index into the profiles"};
inline constexpr ValueRange kGraphIndex{"an index into the graphs"};

}  // namespace ranges

/// All columns of jobs: name, type, unit, what there is a value for, whether a trace may lack it,
/// range and what it is for. Whatever else knows of columns follows from this table. Its order is
/// that of saved cases: a new column comes last. Those that are required come first.
#define GPUSCHED_JOB_COLUMNS(COLUMN)                                                               \
  COLUMN(submit_us, std::int64_t, "us", job, required, kCount, "Submit time; ascending.")          \
  COLUMN(service_us, std::int64_t, "us", job, required, kRunTime,                                  \
         "True run time on an idle cluster.")                                                      \
  COLUMN(gpus, std::int32_t, "GPUs", job, required, kWidth,                                        \
         "Job size: workers of one GPU each; may be 0 if jobs have demands.")                      \
  COLUMN(predicted_us, std::int64_t, "us", job, optional, kRunTime,                                \
         "Run time that a policy may use; default: the true one.")                                 \
  COLUMN(estimate_us, std::int64_t, "us", job, optional, kRunTime,                                 \
         "Run time that a reservation uses; default: the prediction.")                             \
  COLUMN(checkpoint_us, std::int64_t, "us", job, optional, kCost,                                  \
         "Checkpoint time added to each resume; default 0.")                                       \
  COLUMN(restart_us, std::int64_t, "us", job, optional, kCost,                                     \
         "Restart time added to each resume; default 0.")                                          \
  COLUMN(weight, double, "", job, optional, kPositive, "Weight in averages; default 1.")           \
  COLUMN(type_set, std::int32_t, "", job, optional, kTypeSetIndex,                                 \
         "Index of the set of allowed GPU types; default: any type.")                              \
  COLUMN(type_masks, std::uint64_t, "", type_set, optional, kMask,                                 \
         "Distinct sets of allowed GPU types.")                                                    \
  COLUMN(profile, std::int32_t, "", job, optional, kProfileIndex,                                  \
         "Index of the profile of the job.")                                                       \
  COLUMN(gradient_bytes, double, "bytes", profile, optional, kNotNegative,                         \
         "Gradients reduced in an iteration; default 0.")                                          \
  COLUMN(compute_s, double, "s", profile_and_type, optional, kSeconds,                             \
         "Compute time of an iteration; NaN if unknown.")                                          \
  COLUMN(graph, std::int32_t, "", job, optional, kGraphIndex, "Index of the graph of the job.")    \
  COLUMN(graph_begin, std::int32_t, "stages", graph_and_end, optional, kBegin,                     \
         "First stage of each graph, then the number of stages.")                                  \
  COLUMN(replicas, std::int32_t, "", stage, optional, kPositiveCount,                              \
         "Workers of the stage; those of a graph add up to its jobs' GPUs.")                       \
  COLUMN(stage_compute_s, double, "s", stage_and_type, optional, kSeconds,                         \
         "Compute time of a replica in an iteration; NaN if unknown.")                             \
  COLUMN(activation_bytes, double, "bytes", stage, optional, kNotNegative,                         \
         "Data sent to the next stage in an iteration.")                                           \
  COLUMN(parameter_bytes, double, "bytes", stage, optional, kNotNegative,                          \
         "Parameters that the replicas reduce in an iteration.")                                   \
  COLUMN(deadline_us, std::int64_t, "us", job, optional, kDeadline,                                \
         "Deadline; -1 or default: none.")                                                         \
  COLUMN(value, double, "", job, optional, kPositive, "Value of meeting the deadline; default 1.") \
  COLUMN(min_gpus, std::int32_t, "GPUs", job, optional, kLeastWidth,                               \
         "Minimum GPUs under an elastic speed; default 1.")                                        \
  COLUMN(max_gpus, std::int32_t, "GPUs", job, optional, kGreatestWidth,                            \
         "Maximum GPUs under an elastic speed; default: no limit.")                                \
  COLUMN(demand, std::int32_t, "", job, optional, kDemandIndex,                                    \
         "Index of the demand of each worker; default: whole GPUs only.")                          \
  COLUMN(demand_share_milli, std::int32_t, "GPU/1000", demand, optional, kShare,                   \
         "Share of its GPU that a worker takes; below 1000 only for 1-GPU jobs.")                  \
  COLUMN(demand_cpu_milli, std::int64_t, "cores/1000", demand, optional, kDemand,                  \
         "CPU request of a worker.")                                                               \
  COLUMN(demand_memory_mib, std::int64_t, "MiB", demand, optional, kDemand,                        \
         "Memory request of a worker.")                                                            \
  COLUMN(table_counts, std::int32_t, "GPUs", count, optional, kAscending,                          \
         "Numbers of GPUs at which throughputs were measured.")                                    \
  COLUMN(throughput, double, "1/s", profile_type_and_count, optional, kNotNegative,                \
         "Iterations per second on packed GPUs; 0: cannot run.")                                   \
  COLUMN(spread_throughput, double, "1/s", profile_type_and_count, optional, kNotNegative,         \
         "The same on more servers than needed; default: as if packed.")                           \
  COLUMN(samples_per_s, double, "1/s", profile_and_type, optional, kNotNegative,                   \
         "Samples per second of a worker; 0: cannot run on this type.")                            \
  COLUMN(max_samples, std::int64_t, "samples", profile_and_type, optional, kCount,                 \
         "Samples per iteration that a worker's memory holds; 0 or default: no limit.")            \
  COLUMN(global_batch, std::int64_t, "samples", profile, optional, kCount,                         \
         "Samples per iteration of all workers together.")                                         \
  COLUMN(gpus_per_node, std::int32_t, "GPUs", job, optional, kGpusPerNode,                         \
         "GPUs on each server of the job; 0 or default: the placement decides.")                   \
  COLUMN(time_limit_us, std::int64_t, "us", job, optional, kTimeLimit,                             \
         "A run that lasts so long is killed; -1 or default: never.")                              \
  COLUMN(checkpoint_every_us, std::int64_t, "us", job, optional, kCost,                            \
         "Work between two checkpoints; 0 or default: the job writes none.")                       \
  COLUMN(checkpoint_write_us, std::int64_t, "us", job, optional, kCost,                            \
         "Time that a checkpoint takes; default 0.")                                               \
  COLUMN(max_requeues, std::int32_t, "", job, optional, kRequeues,                                 \
         "Server failures after which the job starts again; -1 or default: any number.")           \
  COLUMN(eligible_us, std::int64_t, "us", job, optional, kEligible,                                \
         "The job is held until then; -1 or default: not; 2^62: for good.")                        \
  COLUMN(cancel_at_us, std::int64_t, "us", job, optional, kDeadline,                               \
         "Its user cancels the job then; -1 or default: never.")                                   \
  COLUMN(exit_failed, std::int32_t, "", job, optional, kFlag,                                      \
         "1: jobs that need its success count it as failed when it finishes; default 0.")          \
  COLUMN(dependency_begin, std::int64_t, "", job_and_end, optional, kOffset,                       \
         "First dependency of each job, then the number of dependencies.")                         \
  COLUMN(dependency_target, std::int64_t, "", dependency, optional, kTarget,                       \
         "The job that it waits for.")                                                             \
  COLUMN(dependency_kind, std::int32_t, "", dependency, optional, kDependencyKind,                 \
         "What of it: 0 its start, 1 its end, 2 its success, 3 its failure.")                      \
  COLUMN(dependency_delay_us, std::int64_t, "us", dependency, optional, kDelay,                    \
         "Time after the start; default 0.")                                                       \
  COLUMN(dependency_any, std::int32_t, "", job, optional, kFlag,                                   \
         "1: one of the job's dependencies suffices; default 0.")                                  \
  COLUMN(array, std::int32_t, "", job, optional, kArrayIndex,                                      \
         "Index of the array of which the job is a task; -1 or default: none.")                    \
  COLUMN(array_limit, std::int32_t, "", array, optional, kArrayLimit,                              \
         "Most of its tasks that are queued or running; -1 or default: any number.")               \
  COLUMN(precedence, std::int32_t, "", job, optional, kPrecedence,                                 \
         "Under a list policy the job goes before all of a higher one; default 0.")                \
  COLUMN(                                                                                          \
      stated_us, std::int64_t, "us", job, optional, kTimeLimit,                                    \
      "A run may take so long and does not start if maintenance is known before; -1: not said.")   \
  COLUMN(requeue_back, std::int32_t, "", job, optional, kFlag,                                     \
         "1: once an outage has ended its run, it is queued as if submitted then; default 0.")

enum class JobColumn : std::uint8_t {
#define GPUSCHED_COLUMN(name, ...) name,
  GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)
#undef GPUSCHED_COLUMN
};

/// One line of the table.
struct ColumnInfo {
  enum class Need : std::uint8_t { required, optional };

  JobColumn id;
  std::string_view name;
  std::string_view dtype;  ///< NumPy name
  std::string_view unit;
  Per per;
  Need need;
  ValueRange range;
  std::string_view text;

  [[nodiscard]] constexpr bool is_required() const { return need == Need::required; }
};

template <class Value>
constexpr std::string_view dtype_of() {
  if constexpr (std::is_same_v<Value, double>) return "float64";
  if constexpr (std::is_same_v<Value, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<Value, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<Value, std::uint64_t>) return "uint64";
}

inline constexpr auto kJobColumns = std::to_array<ColumnInfo>({
#define GPUSCHED_COLUMN(name, Value, unit, per, need, range, text)                    \
  {JobColumn::name, #name, dtype_of<Value>(), unit, Per::per, ColumnInfo::Need::need, \
   ranges::range,   text},
    GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)
#undef GPUSCHED_COLUMN
});

[[nodiscard]] constexpr const ColumnInfo& info_of(JobColumn column) {
  return kJobColumns[static_cast<std::size_t>(column)];
}

[[nodiscard]] constexpr const ColumnInfo* find_column(std::string_view name) {
  for (const ColumnInfo& info : kJobColumns) {
    if (info.name == name) return &info;
  }
  return nullptr;
}

/// Names of columns, as listed in the registration of a speed.
[[nodiscard]] inline std::vector<std::string_view> names_of(
    std::initializer_list<JobColumn> columns) {
  std::vector<std::string_view> names;
  for (const JobColumn column : columns) names.push_back(info_of(column).name);
  return names;
}

/// A member for each column: `Of` of the type of its values.
template <template <class> class Of>
struct PerColumn {
#define GPUSCHED_COLUMN(name, Value, ...) Of<Value> name{};
  GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)
#undef GPUSCHED_COLUMN
};

/// Calls `visit(info, member...)` for each column in turn, with that member of each argument.
template <class Visit, class... Columns>
void for_each_column(Visit&& visit, Columns&&... columns) {
#define GPUSCHED_COLUMN(name, ...) visit(info_of(JobColumn::name), columns.name...);
  GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)
#undef GPUSCHED_COLUMN
}

template <class Value>
using BorrowedColumn = std::span<const Value>;

/// The columns of a trace, borrowed: their owner outlives the table. Optional ones may be empty.
using JobColumns = PerColumn<BorrowedColumn>;

}  // namespace gpusched
