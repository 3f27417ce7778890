#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"
#include "market/category.hpp"
#include "market/market.hpp"
#include "market/market_model.hpp"
#include "market/price_bound.hpp"
#include "market/worker_exchange.hpp"

namespace gpusched {

/// Which categories are looked at.
enum class CategorySampling : std::uint8_t {
  seeded,     ///< fixed seeds, half uniform draws, half draws around the square-root rule
  uniform,    ///< uniform draws alone: N of them hold one of the best q with 1 - (1 - q)^N
  enumerate,  ///< all of them
};

/// Places jobs on unequal workers at one instant: draws categories, clears the market in each,
/// keeps the best and descends from it. After the abstract of Liu, Wang, Huang, Pan, "Sampling-Based
/// Multi-Job Placement for Heterogeneous Deep Learning Clusters", IEEE TPDS 35(6), 2024; all beyond
/// categories, markets and sampling is ours. One object decides many times; nothing is allocated
/// where an earlier problem was as large.
class MatchingMarket {
 public:
  struct Options {
    MatchingGoal goal;
    Market::Options market;
    CategorySampling sampling = CategorySampling::seeded;
    std::int32_t draws = 59;  ///< one of the best 5 % at 95 %
    std::uint64_t seed = 0;
    double enumerate_up_to = 2000;  ///< categories; then all are looked at: 0 turns that off
    bool descend = true;            ///< from the best category, worker by worker
    /// Effort of the descent, in jobs x (classes + 1)^2 per exchange tried: 64 jobs on four classes
    /// try 62.
    std::int64_t effort = 100'000;
    bool prune = true;  ///< no category that a bound shows to be no better
    double concentration = 4.0;  ///< of draws around the square-root rule, balls per job
    double hysteresis = 0.03;  ///< a smaller part of the score is not worth a change
    /// Whether to compute the decision's bound, prices and number of categories.
    bool reports_bounds = true;
  };

  struct Decision {
    std::vector<std::int32_t> counts;  ///< by job of the problem, jobs x classes; 0: waits
    std::vector<double> job_s;  ///< completion of each job; infinite: waits
    std::vector<double> equal_s;  ///< the same in equal shares
    std::vector<double> price;  ///< of a worker of each class, seconds of summed completion
    double mean_s = 0;  ///< over the jobs that do not wait
    double score = 0;
    double lower_bound_s = 0;  ///< no decision for the same jobs has a lower mean
    double fairness = 1;  ///< Jain's index of job_s / equal_s
    double sampled_score = 0;  ///< before descent
    double num_categories = 0;  ///< incomplete without bounds
    std::int64_t num_tried = 0;  ///< markets cleared
    std::int64_t num_pruned = 0;  ///< categories that a bound ruled out
    bool is_exhaustive = false;  ///< every category was tried or ruled out
    bool is_kept = false;  ///< the previous placement stays
  };

  const Decision& solve(const MatchingProblem& problem, const Options& options);
  /// Forgets all that it cleared, by which it breaks ties, and listens.
  void begin(StopCheck* stop) {
    *this = MatchingMarket();
    listen_to(stop);
  }
  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept;

  [[nodiscard]] const Decision& decision() const noexcept { return decision_; }
  [[nodiscard]] const MarketModel& model() const noexcept { return model_; }

 private:
  struct Step {
    double bound;
    std::int32_t from, to;
  };

  void seed();
  bool keep_previous();
  void set_prices();
  void sample();
  void look_at(std::span<const std::int32_t> category);
  void consider(std::span<const std::int32_t> counts, double score);
  void refine(std::span<const std::int32_t> counts);
  void follow_prices();
  bool step();
  [[nodiscard]] bool is_hopeless(double bound_s) const noexcept;
  bool remember(std::span<const std::int32_t> category);
  void report(const MatchingProblem& problem);

  Options options_;
  MarketModel model_;
  Categories categories_;
  Market market_;
  Market bounding_;
  Exchange exchange_;
  PriceBound bound_;
  bool has_prices_ = false;
  bool has_kept_ = false;
  double best_score_ = 0;
  std::int64_t effort_ = 0;
  double enumerated_bound_ = 0;  // the lowest of the categories visited
  double kept_score_ = 0;
  std::vector<std::int32_t> best_, start_, kept_, free_;
  std::vector<std::int32_t> category_, drawn_;
  std::vector<double> weight_, wanted_, equal_s_, estimate_;
  std::set<std::uint64_t> seen_;  // hashes of categories
  std::vector<Step> steps_;
  Decision decision_;
  Ref<StopCheck> stop_;
};

}  // namespace gpusched
