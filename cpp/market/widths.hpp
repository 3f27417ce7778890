#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elastic/reallocation.hpp"
#include "market/market_jobs.hpp"
#include "market/one_type_search.hpp"

namespace gpusched {

/// Widths on single types, where types do not add up: a search that begins at the market's
/// matching and at what is held now.
class MatchingWidths {
 public:
  /// Starts with this many GPUs of each type, and no jobs.
  void begin(std::span<const std::int32_t> capacity);
  /// In the order of precedence; `held` has no GPUs where the job has none or several types,
  /// `matched` is what the market gave it. The cost of a job is weight x its seconds left.
  void add(const MatchingJobs::Job& job, double weight, const Part& held,
           std::span<const Part> matched);
  /// `in_turn`: also starts from the jobs' choices in order. Present allocations stay unless the
  /// sum of costs falls by more than the fraction `hysteresis`.
  void solve(bool in_turn, double hysteresis);
  /// No GPUs: it waits.
  [[nodiscard]] Part found(std::size_t row) const noexcept;

 private:
  enum class Start : std::uint8_t { matched, in_turn };

  void begin_at(Start start);
  void remember();

  OneTypeSearch search_;
  std::vector<std::int32_t> kept_, matched_, widest_, best_;  // by row; options or GPUs
  std::vector<OneTypeSearch::Option> line_;
};

}  // namespace gpusched
