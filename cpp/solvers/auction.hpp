#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"

namespace gpusched {

/// A many-to-one auction: jobs that need several items each, one unit of value per item, bid
/// against each other until every job has its items. Leftover items cost next to nothing.
///
/// Forward auction with epsilon scaling in which the units of a job bid together and never against
/// each other. Bertsekas, Castanon, "The auction algorithm for the transportation problem", Annals
/// of Operations Research 20, 1989.
class Auction {
 public:
  /// Complementary slackness within epsilon: of a job's own items value - price is job_dual or at
  /// least that less epsilon, of all others at most job_dual. Prices are at least 0, those of
  /// items without an owner at most epsilon.
  struct Result {
    std::vector<std::int32_t> owner;  ///< job of each item, -1: none
    std::vector<double> price;
    std::vector<double> job_dual;  ///< per unit
    double value = 0;              ///< at most items x epsilon below the greatest
    double epsilon = 0;            ///< as requested, or raised by rounding
    std::int64_t num_bids = 0;     ///< of single items
  };

  /// Checked at each bid; null: none.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// `value` by job, demand.size() x items; -infinity forbids a pair. With whole values and
  /// a resulting epsilon < 1 / items the value is the greatest. An epsilon that prices, as they
  /// are rounded, cannot grow by is raised: to 2^-48 of the greatest price at most. Nothing is
  /// allocated where an earlier problem was as large.
  /// InvalidInput for NaN, values beyond -1e300 and 1e300, a demand below 0, more demand than
  /// items, epsilon <= 0, or if the allowed pairs do not suffice.
  const Result& solve(std::span<const double> value, std::span<const std::int32_t> demand,
                      int items, double epsilon);

  [[nodiscard]] const Result& result() const noexcept { return result_; }

 private:
  /// An item that a job does not have, and what it would gain by it.
  struct Offer {
    double net;
    std::int32_t item;
  };

  void load(std::span<const double> value, std::span<const std::int32_t> demand, double epsilon);
  [[nodiscard]] double run(std::span<const std::int32_t> demand, double epsilon);
  void bid(std::size_t job, double& epsilon);
  void level_prices();
  void report(std::span<const double> value);

  [[nodiscard]] double worth(std::size_t job, std::size_t item) const noexcept {
    return worth_[job * num_items_ + item];
  }

  // Items left over go to an idle job that they are worth nothing to, the last one.
  std::size_t num_jobs_ = 0;
  std::size_t num_items_ = 0;
  std::int32_t idle_demand_ = 0;
  double range_ = 0;  // of a job's values, forbidden pairs at a finite one
  Ref<StopCheck> stop_;

  std::vector<double> worth_;  // beyond a job's least value
  std::vector<double> least_;  // value of a job
  std::vector<double> price_;
  std::vector<std::int32_t> owner_;
  std::vector<std::int32_t> missing_;  // units that a job has yet to get
  std::vector<std::int32_t> waiting_;  // jobs with missing units
  std::vector<Offer> offers_;
  std::vector<double> dual_;

  Result result_;
};

}  // namespace gpusched
