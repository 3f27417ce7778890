#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <span>
#include <vector>

#include "deadlines/plan.hpp"
#include "deadlines/planner.hpp"

namespace gpusched {

/// The promised GPUs of each type over all future time, for promises of any length.
class PromiseRuns {
 public:
  struct Promise {
    int type;
    int gpus;
    std::int64_t begin;  ///< slots [begin, end)
    std::int64_t end;
  };

  PromiseRuns(std::size_t num_types, std::span<const Promise> promises) : from_(num_types) {
    for (const Promise& promise : promises) {
      auto& from = from_[static_cast<std::size_t>(promise.type)];
      from[promise.begin] += promise.gpus;
      from[promise.end] -= promise.gpus;
    }
    for (auto& from : from_) {
      int sum = 0;
      for (auto& [slot, gpus] : from) gpus = sum += gpus;
    }
  }

  [[nodiscard]] int promised(int type, std::int64_t slot) const noexcept {
    const auto& from = from_[static_cast<std::size_t>(type)];
    const auto next = from.upper_bound(slot);
    return next == from.begin() ? 0 : std::prev(next)->second;
  }

  /// Calls `visit(begin, end)` for the pieces of [first, last) in which no type's number changes.
  template <class Visit>
  void for_each_piece(std::int64_t first, std::int64_t last, Visit&& visit) const {
    while (first < last) {
      std::int64_t end = last;
      for (const auto& from : from_) {
        const auto next = from.upper_bound(first);
        if (next != from.end()) end = std::min(end, next->first);
      }
      visit(first, end);
      first = end;
    }
  }

 private:
  std::vector<std::map<std::int64_t, int>> from_;  // by type: promised from a slot to the next key
};

/// The GPU type and the slots [begin, end) that are in the way of a job; -1: none are.
struct Scarcity {
  int type = -1;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  int free = 0;  ///< GPUs, at most, without a promise
};

/// At least this at present prices, whatever the plan. Much faster than to find one.
[[nodiscard]] double least_cost(const DeadlinePlanner& planner, const PlanQuery& query);
/// Lower bound on the price of a slot's length of service, for any promises.
[[nodiscard]] double least_price(const Prices& prices,
                                 std::span<const PlanConfiguration> configurations);

/// A lower bound on the cost of any schedule over the whole window at the planner's current prices:
/// every started quantum counts as done, changes take no time, capacity is unlimited, and possible
/// rounding is subtracted. Windows of more than 64 slots: the linear relaxation.
[[nodiscard]] double optimistic_cost(const DeadlinePlanner& planner, const PromiseRuns& promised,
                                     const PlanQuery& query);

/// The type that is exhausted for longest in the job's window, or else the most promised.
[[nodiscard]] Scarcity scarcest(const DeadlinePlanner& planner, const PlanQuery& query);

}  // namespace gpusched
