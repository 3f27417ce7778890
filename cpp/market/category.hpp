#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/infinity.hpp"
#include "base/rng.hpp"

namespace gpusched {

/// The categories of a decision: a number of workers for each job, least[i] to most[i], which add
/// up to all workers or, if some may stay idle, to no more than these.
class Categories {
 public:
  void begin(std::span<const std::int32_t> least, std::span<const std::int32_t> most,
             std::int32_t workers, bool may_idle);

  /// The number of categories, rounded as a double; C(workers - 1, jobs - 1) without limits or idle
  /// ones. Any greater number if it quickly exceeds `limit`.
  [[nodiscard]] double count(double limit = kInfinity);

  /// Calls `visit(span of the category)` for each, in lexicographic order.
  template <class Visit>
  void for_each(Visit&& visit) {
    category_.resize(least_.size());
    descend(0, workers_, visit);
  }

  /// Workers by weight, largest remainders first (ties to the lower job), all within the limits.
  void by_weight(std::span<const double> weight, std::vector<std::int32_t>& category);

  /// The n-th uniform draw: distinct cut points, sorted, and the differences between them. Exactly
  /// uniform where `most` limits nothing; where it does, as near as repeated draws come.
  void uniform(std::uint64_t seed, std::uint64_t n, std::vector<std::int32_t>& category);

  /// The n-th draw of minimum + a Dirichlet-multinomial number of the other workers: balls from an
  /// urn that holds `concentration` x jobs balls in the proportions `weight`, each put back with
  /// another of its kind. No worker is idle as far as `most` allows.
  void around(std::uint64_t seed, std::uint64_t n, std::span<const double> weight,
              double concentration, std::vector<std::int32_t>& category);

 private:
  template <class Visit>
  void descend(std::size_t job, std::int32_t left, Visit&& visit) {
    const std::size_t next = job + 1;
    const std::int32_t most = std::min(most_[job], left - least_after_[next]);
    std::int32_t workers = least_[job];
    if (!may_idle_) workers = std::max(workers, left - most_after_[next]);
    for (; workers <= most; ++workers) {
      category_[job] = workers;
      if (next == category_.size()) {
        visit(std::span<const std::int32_t>(category_));
      } else {
        descend(next, left - workers, visit);
      }
    }
  }
  [[nodiscard]] double count_nearby() const noexcept;
  bool cut(std::uint64_t seed, std::uint64_t n, std::uint64_t& counter,
           std::vector<std::int32_t>& category);
  void spend(std::int32_t left, std::vector<std::int32_t>& category) const;

  std::vector<std::int32_t> least_, most_;
  std::vector<std::int32_t> least_after_, most_after_;  // sums from a job on
  std::int32_t workers_ = 0;
  bool may_idle_ = false;
  std::vector<std::int32_t> category_;
  std::vector<double> ways_, sums_;
  std::vector<std::uint8_t> is_cut_;
  std::vector<std::int32_t> balls_;
  struct Remainder {
    double part;
    std::int32_t job;
  };
  std::vector<Remainder> remainders_;
};

}  // namespace gpusched
