#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"
#include "market/market_model.hpp"

namespace gpusched {

/// Local search on the workers of each class that each job holds: two jobs exchange a worker each
/// or, if numbers may change, one gives a worker to the other; idle workers belong to no job. An
/// exchange changes few jobs, so only their seconds are recomputed. Does not allocate if an earlier
/// problem was as large.
///
/// If the score is a sum over the jobs and the classes are few, an exchange is a cycle among
/// classes (a job gives one of g and gets one of h: an arc from g to h), the best arcs are kept,
/// and rings of three jobs count too. Otherwise all pairs of jobs are tried.
class Exchange {
 public:
  /// From these workers, by job, jobs x classes, no more than there are. Every job has one.
  void start(const MarketModel& model, std::span<const std::int32_t> counts);

  /// Exchanges that keep the number of workers of each job, until none lowers the score.
  void polish() { improve(false); }
  /// All exchanges, within least and most of each job.
  void resize() { improve(true); }
  /// Moves one worker from `from` to `to` (num_jobs(): idle), the one that gives the lowest score.
  /// False, without effect, if they cannot exchange.
  bool give(std::size_t from, std::size_t to);

  [[nodiscard]] double score() const noexcept { return model_->score(sums_); }
  [[nodiscard]] const MarketModel::Sums& sums() const noexcept { return sums_; }
  [[nodiscard]] double seconds(std::size_t job) const noexcept { return jobs_[job].seconds; }
  [[nodiscard]] double sum_of_rates(std::size_t job) const noexcept { return jobs_[job].rate; }
  [[nodiscard]] std::int32_t workers(std::size_t job) const noexcept { return jobs_[job].workers; }
  /// Workers of each job, jobs x classes.
  [[nodiscard]] std::span<const std::int32_t> counts() const noexcept {
    return {counts_.data(), num_jobs_ * num_classes_};
  }

  /// Sets the stop check of all later calls; null: none.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// For tests: always by pairs.
  void use_pairs() noexcept { may_use_arcs_ = false; }

 private:
  struct Job {
    double rate = 0;  // sum over its workers
    std::int32_t workers = 0;
    std::int32_t differences = 0;  // classes in which it holds others than before
    double seconds = 0;
  };
  struct Move {
    std::size_t first = 0, second = 0;
    std::int32_t given = -1, got = -1;  // by the first; -1: none
    double score = 0;
  };
  /// The two jobs to which giving one class for another costs least, in seconds.
  struct Arc {
    std::array<double, 2> cost;
    std::array<std::int32_t, 2> job;
  };

  void improve(bool may_resize);
  void improve_by_pairs(bool may_resize);
  [[nodiscard]] Move best_of(std::size_t first, std::size_t second, bool swaps, bool gives,
                             bool gets);
  [[nodiscard]] double score_after(const Move& move);

  void improve_by_arcs(bool may_resize);
  void cost_of(std::size_t job, bool may_resize);
  void update_arcs(std::size_t job, std::size_t first);
  void offer(std::size_t arc, std::size_t job);
  bool best_ring(std::size_t length, std::size_t first);
  void turn(std::size_t i, std::size_t length, int direction);

  void change(std::size_t job, std::int32_t minus, std::int32_t plus);
  void refresh(std::size_t job);
  void total();
  [[nodiscard]] double sum_of_rates(std::span<const std::int32_t> counts, std::size_t job) const;
  [[nodiscard]] double after(std::size_t job, std::int32_t minus, std::int32_t plus);

  [[nodiscard]] std::span<std::int32_t> row(std::size_t job) noexcept {
    return {counts_.data() + job * num_classes_, num_classes_};
  }

  Ref<const MarketModel> model_;
  std::size_t num_jobs_ = 0;
  std::size_t num_classes_ = 0;
  bool may_use_arcs_ = true;
  Ref<StopCheck> stop_;
  MarketModel::Sums sums_;
  std::vector<Job> jobs_;
  std::vector<std::int32_t> counts_;   // by job; the idle ones are those of a last job
  std::vector<std::int32_t> held_;     // classes that a job holds, ascending
  std::vector<std::int32_t> num_held_;
  std::vector<std::uint32_t> changed_;  // when a job changed last
  std::vector<std::uint32_t> seen_;     // when a pair was gone through last

  // Node 0 means no worker, node c + 1 is class c.
  std::vector<double> cost_;  // by job, given, got
  std::vector<Arc> arcs_;     // by given, got
  struct Ring {
    double cost;
    std::array<std::size_t, 3> node;
    std::array<std::int32_t, 3> job;
  };
  Ring ring_{};
};

}  // namespace gpusched
