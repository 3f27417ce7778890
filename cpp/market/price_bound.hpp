#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "market/market_model.hpp"

namespace gpusched {

/// Lower bounds on total completion time at given prices of the workers. By Lagrange, any decision
/// of a category takes at least the sum over the jobs of the minimum seconds + price with this many
/// workers, minus the price of all workers. Each minimum is bounded by tangents of work / rate, all
/// of which are valid: for a slope, the cheapest workers have the lowest price - slope x rate.
class PriceBound {
 public:
  /// `price` of a worker of each class; `estimate`: of the jobs' sums of rates, where the bounds
  /// are to be close.
  void begin(const MarketModel& model, std::span<const double> price,
             std::span<const double> estimate);

  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// On the summed seconds of all decisions of the category.
  [[nodiscard]] double of_category(std::span<const std::int32_t> category) const noexcept;
  /// Of a job with this many workers: seconds + price.
  [[nodiscard]] double of_job(std::size_t job, std::int32_t workers) const noexcept {
    return table_[cell(job, workers)] + fixed_s_[cell(job, workers)];
  }
  /// Puts a tangent at the best place for that.
  void refine(std::size_t job, std::int32_t workers);
  /// Of all workers.
  [[nodiscard]] double price() const noexcept { return total_price_; }

  /// On the summed seconds of every decision whatsoever; closer after more rounds of refining.
  double of_all(std::int32_t rounds);
  /// The Lagrange multiplier: raises every price so that no job prefers fewer or more workers.
  [[nodiscard]] double shift() const noexcept { return shift_; }
  /// The number of workers of each job at which that bound is reached: no more than there are.
  [[nodiscard]] std::span<const std::int32_t> best() const noexcept { return best_; }

 private:
  void rank_offers(std::size_t job, double slope);
  void add_tangent(std::size_t job, double estimate, double least, double most);
  void set_least(std::size_t job);
  [[nodiscard]] std::size_t cell(std::size_t job, std::int32_t workers) const noexcept {
    return begin_[job] + static_cast<std::size_t>(workers - model_->minimum()[job]);
  }
  double add_point(std::size_t job, std::int32_t workers, double estimate);
  std::int64_t shifted(double shift, std::span<const std::int32_t> from,
                       std::span<const std::int32_t> to);

  Ref<const MarketModel> model_;
  Ref<StopCheck> stop_;
  std::vector<std::size_t> begin_, blocks_begin_;  // of each job's cells and blocks
  std::vector<double> price_;
  double total_price_ = 0.0;
  // By job, then number of workers, from its minimum on: what is held may be below the guarded least.
  std::vector<double> table_;
  std::vector<std::uint8_t> is_refined_;
  std::vector<double> fixed_s_;

  std::vector<double> least_;             // of table_ + fixed_s_ in blocks of numbers of workers
  std::vector<std::int32_t> best_;        // number of workers of each job at the last shift
  std::vector<std::int32_t> least_at_, most_at_;  // at the shifts around the best one
  double of_all_ = 0.0;
  double shift_ = 0.0;
  struct Offer {
    double cost, rate;
    std::int32_t count, type;
  };
  std::vector<Offer> offers_;
  std::vector<double> slowest_, fastest_;  // rates of the workers that a job can use
};

}  // namespace gpusched
