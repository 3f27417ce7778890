#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "market/market_model.hpp"
#include "market/worker_exchange.hpp"
#include "solvers/assignment.hpp"
#include "solvers/auction.hpp"
#include "solvers/transportation.hpp"

namespace gpusched {

/// How a market is cleared: workers matched to jobs at the maximum sum of valuations, with prices
/// at which no job prefers another worker.
enum class Clearing : std::uint8_t {
  transportation,   ///< over classes of equal workers: the smallest problem where they are few
  jonker_volgenant, ///< over single workers and single places of jobs
  auction,          ///< jobs bid for single workers; within epsilon
};

/// How a worker is valued by a job.
enum class Valuation : std::uint8_t {
  iterated,  ///< seconds of completion saved, at an estimate that follows the market's results
  one_pass,  ///< the same at the first estimate alone
  raw,       ///< its rate
};

/// Clears markets of one model, repeatedly.
class MarketClearing {
 public:
  struct Result {
    std::span<const std::int32_t> counts;  ///< by job, jobs x classes
    std::span<const double> price;         ///< of a worker of each class, at least 0
    double most = 0;  ///< no matching of these numbers has a greater sum of valuations
  };

  void begin(const MarketModel& model, Clearing clearing);
  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept {
    transportation_.listen_to(stop);
    assignment_.listen_to(stop);
    auction_.listen_to(stop);
  }

  /// `value` of one worker of a class to a job, jobs x classes; `category`: workers of each job.
  /// Where a job's rate is 0 its worker is left idle instead. Valid until the next call.
  Result clear(std::span<const double> value, std::span<const std::int32_t> category);

 private:
  void spread(std::span<const std::int32_t> category);

  Ref<const MarketModel> model_;
  Clearing clearing_ = Clearing::transportation;
  Transportation transportation_;
  Assignment assignment_{Assignment::Start::frozen_ties};
  Auction auction_;
  std::vector<std::int32_t> class_of_worker_;
  std::vector<double> value_, expanded_, price_;
  std::vector<std::int32_t> counts_;
};

/// The market inside a category, a number of workers for each job. Total completion time is
/// convex in the sums of rates, so the valuation at an estimate of these sums is its slope, each
/// cleared market is a step of the method of Frank and Wolfe towards the category's optimum over
/// fractions of workers, and each gives a lower bound. That a market solves a category is of Liu,
/// Wang, Huang, Pan, IEEE TPDS 35(6), 2024 (the abstract); valuation and iteration are ours.
class Market {
 public:
  struct Options {
    Valuation valuation = Valuation::iterated;
    Clearing clearing = Clearing::transportation;
    std::int32_t rounds = 8;
    double tolerance = 1e-5;  ///< of score - bound, in parts of the score
    bool polish = true;
  };
  struct Result {
    double score = 0;        ///< infinite where some job has no worker that it can use
    double lower_bound = 0;  ///< on the score of every decision of the category
    std::int32_t rounds = 0;
    std::vector<std::int32_t> counts;  ///< by job, jobs x classes
    std::vector<double> price;  ///< seconds of summed completion time per worker of each class
  };

  void begin(const MarketModel& model, const Options& options);
  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept {
    clearing_.listen_to(stop);
    exchange_.listen_to(stop);
  }

  /// The best decision found with these numbers of workers. It ends early where the bound reaches
  /// `incumbent`: the category holds nothing better.
  const Result& solve(std::span<const std::int32_t> category, double incumbent);

  [[nodiscard]] const Result& result() const noexcept { return result_; }
  /// The estimated sums of rates behind the best bound.
  [[nodiscard]] std::span<const double> estimate() const noexcept { return best_estimate_; }

 private:
  void value_workers();
  void consider(std::span<const std::int32_t> counts);
  void round_fractions(std::span<const std::int32_t> category);

  Ref<const MarketModel> model_;
  Options options_;
  MarketClearing clearing_;
  Exchange exchange_;
  Result result_;
  std::vector<double> estimate_, best_estimate_;  // of the sums of rates
  std::vector<double> fraction_;                  // of workers, by job, jobs x classes
  std::vector<double> value_;

  struct Part {
    double fraction;
    std::int32_t cell;
  };
  std::vector<Part> parts_;
  std::vector<std::int32_t> rounded_, places_, free_;
};

}  // namespace gpusched
