#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.hpp"
#include "deadlines/market_prices.hpp"
#include "deadlines/plan.hpp"
#include "deadlines/plan_search.hpp"
#include "deadlines/prices.hpp"
#include "deadlines/promise_ledger.hpp"
#include "deadlines/segments.hpp"

namespace gpusched {

/// The outcome of the search for a plan.
enum class PlanVerdict : std::uint8_t {
  found,
  too_dear,     ///< the cheapest costs the value or more
  no_room,      ///< too many GPUs are promised
  impossible,   ///< not even with all GPUs
  too_long,     ///< no plan in those slots of the window that are looked at
  unrunnable,   ///< no configuration of the job can run
};

[[nodiscard]] const char* name_of(PlanVerdict verdict) noexcept;

/// Finds the cheapest schedules that meet deadlines at the current prices, and keeps the ledger of
/// promised GPUs. Independent of the simulation.
class DeadlinePlanner {
 public:
  DeadlinePlanner(const PlannerOptions& options, std::span<const std::int64_t> type_gpus);
  DeadlinePlanner(const DeadlinePlanner&) = default;
  DeadlinePlanner& operator=(const DeadlinePlanner&) = delete;  // its parts know each other

  [[nodiscard]] const PlannerOptions& options() const noexcept { return options_; }
  [[nodiscard]] const Prices& prices() const noexcept { return prices_; }
  [[nodiscard]] const PromiseLedger& ledger() const noexcept { return ledger_; }
  [[nodiscard]] std::int64_t slot_of(Time at) const noexcept {
    return at.count() / options_.slot.count();
  }
  void advance(Time now) { ledger_.advance(slot_of(now)); }

  /// Lets prices know of a job before it is planned for the first time.
  void see(const PlanQuery& query);
  /// The cheapest plan at present prices, restart costs and the reserve for a migration included.
  /// `steps` and `cost` are set if one was found; `cost` too where it is too dear.
  [[nodiscard]] PlanVerdict find(const PlanQuery& query, std::vector<PlanStep>& steps,
                                 double& cost);
  /// Whether a bound says that every plan costs `limit` or more; much faster than to look.
  [[nodiscard]] bool is_too_dear(const PlanQuery& query, double limit);
  /// Whether it costs less than the value; faster where it does not. Of no interest where it costs
  /// `limit` or more: then it may not be found.
  [[nodiscard]] bool find_affordable(const PlanQuery& query, double limit,
                                     std::vector<PlanStep>& steps, double& cost);
  [[nodiscard]] bool find_affordable(const PlanQuery& query, std::vector<PlanStep>& steps,
                                     double& cost) {
    return find_affordable(query, query.value, steps, cost);
  }
  /// The cost of the steps at present prices; they must not be promised at the time.
  [[nodiscard]] double cost_of(const PlanQuery& query, std::span<const PlanStep> steps) const;
  /// Ticks of service that steps must do: the work, and the reserve.
  [[nodiscard]] double needed(const PlanQuery& query, double greatest_rate) const;
  /// The same for steps that the job follows.
  [[nodiscard]] double enough(const PlanQuery& query, std::span<const PlanStep> steps,
                              double greatest_rate) const;
  /// Whether steps that the job follows do the work by its deadline, without a reserve.
  [[nodiscard]] bool keeps(const PlanQuery& query, std::span<const PlanStep> steps) const;
  /// Whether the steps do what is needed; drops the slots at their end that do not matter.
  bool trim(const PlanQuery& query, std::vector<PlanStep>& steps) const;

  /// Throws InvariantError if the promised GPUs would exceed the cluster's.
  void promise(const PlanQuery& query, std::span<const PlanStep> steps, int sign = 1);
  void withdraw(const PlanQuery& query, std::span<const PlanStep> steps) {
    promise(query, steps, -1);
  }
  /// The part of the window that is searched.
  [[nodiscard]] PlanWindow window_of(const PlanQuery& query) const noexcept;
  [[nodiscard]] PlanWindow full_window_of(const PlanQuery& query) const noexcept;

 private:
  /// Value of a GPU of a type relative to one of the best type of the job: the mean over jobs.
  struct Worth {
    double sum = 0.0;
    double count = 0.0;

    [[nodiscard]] double mean() const noexcept { return count == 0.0 ? 0.0 : sum / count; }
  };

  void see_market(const PlanQuery& query);
  /// Whether the steps do this many ticks of service by the deadline.
  [[nodiscard]] bool does(const PlanQuery& query, std::span<const PlanStep> steps,
                          double work) const;
  /// What the previous call computed for the query.
  enum class Known : std::uint8_t { nothing, window, options };

  [[nodiscard]] PlanVerdict find_below(const PlanQuery& query, double limit, Known known,
                                       std::vector<PlanStep>& steps, double& cost);
  [[nodiscard]] bool find_single(const PlanQuery& query, const PlanWindow& window,
                                 std::vector<PlanStep>& steps, double& cost) const;
  [[nodiscard]] bool solve(const PlanQuery& query, double work, double limit, bool has_options,
                           std::vector<PlanStep>& steps);

  PlannerOptions options_;
  Prices prices_;
  PromiseLedger ledger_;
  DeadlineSegments segments_;  // of the last window
  PlanSearch search_;
  MarketPrice market_;
  std::vector<Worth> worths_;  // of each type
  std::vector<std::int32_t> widths_;
  DeadlineSegments::Pruned pruned_ = DeadlineSegments::Pruned::nothing;  // in the last search
};

}  // namespace gpusched
