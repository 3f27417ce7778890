#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/run_control.hpp"
#include "market/market_model.hpp"
#include "market/matching_market.hpp"
#include "market/price_bound.hpp"

namespace gpusched {

/// The best decision of all, and the proof: every category that the bound of prices does not rule
/// out is searched by branch and bound, worker by worker, on the bound of Frank and Wolfe with all
/// earlier cleared markets kept. For few jobs and workers, under a proportional split without
/// limits of memory or previous workers, and with beta = 1; otherwise InvalidInput.
class ExactMarket {
 public:
  struct Options {
    double tolerance = 1e-9;          ///< in parts of the optimum
    std::int64_t max_steps = 1'000'000;  ///< of branching; then the proof stays incomplete
  };
  struct Result {
    std::vector<std::int32_t> counts;  ///< by job, jobs x classes, of the jobs that do not wait
    std::vector<double> job_s;  ///< completion of each of them
    double mean_s = 0;
    double lower_bound_s = 0;  ///< mean_s up to the tolerance if is_optimal
    std::int64_t num_searched = 0;  ///< categories that the bound of prices left
    std::int64_t num_branched = 0;  ///< of which a bound of their own did not settle
    std::int64_t num_steps = 0;
    bool is_optimal = false;
  };

  /// `market` finds the initial decision; `control` is checked at every step of the search.
  const Result& solve(const MatchingProblem& problem, const MatchingMarket::Options& market,
                      const Options& options, const RunControl& control);

 private:
  /// One market over single workers, cleared again after small changes: jobs with underpriced
  /// workers pass them on around cycles.
  struct Node {
    std::vector<std::uint8_t> is_allowed;  // by job, then worker; idle workers' row is the last
    std::vector<std::int32_t> owner;  // of each worker
    std::vector<std::uint8_t> is_forced;  // whether a branch has given it to its owner
  };
  struct Candidate {
    double bound;
    std::size_t first;  // in categories_
  };

  void list_categories(std::size_t job, std::int32_t left, double bound);
  void search(std::span<const std::int32_t> category, double price_bound);
  double branch(std::size_t depth);
  bool force(Node& node, std::size_t job, std::size_t worker);
  void consider(const Node& node);

  // Bounds a node, and finds where to branch.
  double bound_node(std::size_t depth, bool& is_settled);
  [[nodiscard]] bool seat(Node& node);
  [[nodiscard]] double clear(Node& node);
  void measure(const Node& node, bool by_value);
  [[nodiscard]] bool find_cycle(double tolerance);
  void pass_around(Node& node);
  void fit_estimate();
  void keep_vertex(const Node& node);
  void fix(Node& node, double slack);
  [[nodiscard]] double part_of(std::size_t job, std::size_t worker) const;
  [[nodiscard]] std::size_t most_divided(const Node& node);

  [[nodiscard]] double rate(std::size_t job, std::size_t worker) const noexcept {
    return rate_[job * workers_ + worker];
  }
  [[nodiscard]] double enough() const noexcept { return best_s_ * (1.0 - options_.tolerance); }

  Options options_;
  Ref<const RunControl> control_;
  std::vector<std::size_t> cycle_;  // jobs, each of which gets a worker from the next one
  MatchingMarket market_;
  MarketModel model_;
  PriceBound bound_;
  Exchange exchange_;
  std::size_t jobs_ = 0;  // without the idle one
  std::size_t workers_ = 0;
  std::vector<double> rate_;  // by job, then single worker; the idle one's are 0
  std::vector<std::int32_t> class_of_worker_;
  std::vector<double> rest_;  // lower bound for the jobs from one on, by workers
  std::vector<std::int32_t> category_, categories_;
  std::vector<Candidate> candidates_;
  double fixed_s_ = 0;
  double best_s_ = 0;  // summed
  double proven_s_ = 0;
  std::vector<Node> nodes_;  // by depth
  std::vector<double> value_, cost_;  // of workers to jobs; of passing one on, job to job
  std::vector<std::int32_t> passed_, via_;  // which worker; predecessor
  std::vector<double> distance_;
  std::vector<double> vertices_, weights_;  // sums of rates of cleared markets
  std::vector<std::int32_t> owners_;  // the same markets
  std::vector<double> estimate_;
  std::vector<std::int32_t> counts_;
  Result result_;
};

}  // namespace gpusched
