#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "deadlines/plan.hpp"
#include "seams/state.hpp"

namespace gpusched {

/// Which properties of a job's GPUs may differ from its request.
struct Freedom {
  bool in_number = true;
  bool in_type = true;
};

/// The configurations that jobs can run on, kept once for all jobs that have the same.
class ConfigurationSets {
 public:
  using Set = std::vector<PlanConfiguration>;

  explicit ConfigurationSets(Freedom freedom) : freedom_(freedom) {}

  void clear() { known_.clear(); }
  /// By type, then number of GPUs: the powers of two within a job's limits on which it runs (and
  /// its own width if it is below all of these), except those that are no faster than fewer GPUs of
  /// the type. Empty if no single type runs it. Valid until `clear`.
  [[nodiscard]] std::span<const PlanConfiguration> of(const State& state, JobId job);

 private:
  using Key = std::tuple<ClassId, std::int32_t, std::int32_t, std::int32_t>;

  [[nodiscard]] Set find(const State& state, JobId job) const;
  [[nodiscard]] Set find_on(const State& state, JobId job, int type, std::int64_t available) const;

  Freedom freedom_;
  std::map<Key, std::shared_ptr<const Set>> known_;  // shared by copies
};

/// The state of a job with respect to its deadline.
enum class Promise : std::uint8_t {
  made,  ///< it holds slots that meet it
  open,  ///< it was turned down, and could still meet it
  none,  ///< it has none, or cannot meet it any more
  never, ///< no single type runs it, so there is no plan for it
};

/// A job that has arrived and has not finished.
struct DancerJob {
  JobId job = kNoJob;
  std::span<const PlanConfiguration> configurations;
  std::vector<PlanStep> steps;  ///< promised, from the present slot on
  Time deadline{0};             ///< kNever: none
  Time change{0};
  double value = 1.0;
  double greatest_rate = 0.0;
  double density = 0.0;  ///< at the last boundary, of an open job
  std::int64_t decision = -1;  ///< index in the log; -1: none
  std::int32_t asked = 0;      ///< GPUs that it gets at most without a promise
  std::int32_t held = -1;      ///< the configuration that it runs on
  Promise promise = Promise::none;

  /// The planner's query for the job in its present state. Its configurations must outlive the
  /// query.
  [[nodiscard]] PlanQuery query(const State& state) const;
  /// Whether all GPUs together could still meet the deadline.
  [[nodiscard]] bool is_in_time(const PlanQuery& query) const;
};

}  // namespace gpusched
