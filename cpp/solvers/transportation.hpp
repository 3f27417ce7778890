#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"

namespace gpusched {

/// The transportation problem of greatest value: rows (jobs) supply units, columns (kinds of
/// workers) have capacities. Made for few columns: exact, in O(rows x columns + paths x columns^2).
///
/// Every unit starts where its value exceeds the price most; the excess of a column then leaves
/// along shortest paths among the columns, a bundle of units at a time.
class Transportation {
 public:
  /// Whether a row places all its units, or only those with a gain.
  enum class Supply : std::uint8_t { exactly, at_most };

  /// From equal prices, or from those of the last solve if it had as many columns and its prices
  /// are not so great that they would hide the present values: the same value, faster if little has
  /// changed, but maybe another of several optima.
  enum class Start : std::uint8_t { cold, warm };

  /// Optimal duals: row_dual[i] + price[j] >= value[i][j], equal where units flow. A price is at
  /// least 0, and 0 where room is left; under `at_most` so are the row duals. The value is the
  /// sum of supply x row_dual and capacity x price.
  struct Result {
    std::vector<std::int32_t> flow;  ///< by row, rows x columns
    std::vector<double> price;
    std::vector<double> row_dual;
    double value = 0;
  };

  /// Checked at each path; null: none.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// `value` per unit by row, supply.size() x capacity.size(); -infinity forbids a pair. Nothing
  /// is allocated where an earlier problem was as large.
  /// InvalidInput for NaN, what lies beyond -1e300 and 1e300 but -infinity, a negative count, and
  /// if `exactly` cannot be.
  const Result& solve(std::span<const double> value, std::span<const std::int32_t> supply,
                      std::span<const std::int32_t> capacity, Supply rule = Supply::exactly,
                      Start start = Start::cold);

  [[nodiscard]] const Result& result() const noexcept { return result_; }

 private:
  void load(std::span<const double> value, std::span<const std::int32_t> supply,
            std::span<const std::int32_t> capacity, Supply rule, Start start);
  void place(std::span<const std::int32_t> supply);
  void place_idle_row();
  void enter(std::size_t row, std::size_t column, std::int32_t units);
  void leave(std::size_t row, std::size_t column, std::int32_t units);
  [[nodiscard]] std::size_t find_path(std::size_t first);
  void push(std::size_t first, std::size_t last);
  void report();

  [[nodiscard]] double& worth(std::size_t row, std::size_t column) noexcept {
    return worth_[row * width_ + column];
  }
  [[nodiscard]] std::int32_t& flow(std::size_t row, std::size_t column) noexcept {
    return flow_[row * width_ + column];
  }
  [[nodiscard]] std::size_t mover(std::size_t from, std::size_t to) const noexcept {
    return static_cast<std::size_t>(mover_[from * width_ + to]);
  }
  [[nodiscard]] std::size_t before(std::size_t column) const noexcept {
    return static_cast<std::size_t>(before_[column]);
  }

  // Room that is left is the supply of a row that is worth nothing anywhere, the last one; units
  // that need not be placed go to a column that is worth nothing to anyone, the last one.
  std::size_t num_rows_ = 0;
  std::size_t num_columns_ = 0;
  std::size_t width_ = 0;  // columns, the idle one among them
  bool has_idle_row_ = false;
  std::int32_t idle_units_ = 0;
  Ref<StopCheck> stop_;

  std::vector<double> worth_;
  std::vector<std::int32_t> flow_;
  std::vector<std::int32_t> excess_;  // of a column's load over its capacity
  std::vector<double> price_;
  std::vector<double> found_price_;  // of the last solve that was through
  // The cheapest unit to move from a column to another: what it loses, and its row.
  std::vector<double> loss_;
  std::vector<std::int32_t> mover_;
  std::vector<std::int32_t> members_;  // rows in a column, from column x rows on, in any order
  std::vector<std::int32_t> num_members_;
  std::vector<std::int32_t> index_;  // of a row among a column's members

  std::vector<double> distance_;
  std::vector<double> open_;  // the same for columns not gone on from, else infinity
  std::vector<std::int32_t> before_;

  Result result_;
};

}  // namespace gpusched
