#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "solvers/cost_rows.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {

/// A column that a row may go to, and what it costs.
struct ListedColumn {
  double cost;
  std::int32_t column;
};

/// For each row of an assignment: the columns of lowest reduced cost, and a bound on all others,
/// which stays valid as column duals fall.
class CandidateLists {
 public:
  static constexpr std::size_t kMost = 32;  // of a row

  /// Lasting: the same lists ever after.
  explicit CandidateLists(bool is_lasting) noexcept : is_lasting_(is_lasting) {}

  /// Reserves memory for the rows; existing lists stay.
  void resize(std::size_t num_rows, std::size_t num_columns);

  /// Relists a row.
  void list(std::size_t row, const double* cost, const double* dual);

  /// Lists a row that may never be listed again, from duals of 0.
  void list_first(std::size_t row, const double* cost, const double* dual);
  /// The same for unread costs; returns their magnitudes.
  [[nodiscard]] Magnitudes list_new(std::size_t row, const double* cost, const double* dual);

  [[nodiscard]] std::span<ListedColumn> of(std::size_t row) noexcept {
    return {&candidates_[row * kMost], num_candidates_[row]};
  }
  /// At most cost - column dual of any column that is not listed.
  [[nodiscard]] double rest(std::size_t row) const noexcept { return rest_[row]; }
  void lower_rest(std::size_t row, double most) noexcept {
    if (most < rest_[row]) rest_[row] = most;
  }
  void shift_rests(double by) noexcept {
    for (double& rest : rest_) rest += by;
  }

 private:
  /// The lowest reduced cost of each block of a row's columns.
  struct Minima {
    static constexpr std::size_t kMostBlocks = 64;

    explicit Minima(std::size_t num_columns) noexcept;

    [[nodiscard]] std::span<const double> all() const noexcept { return {least.data(), count}; }

    std::size_t size;  // of a block; the last one may be shorter
    std::size_t count;
    std::array<double, kMostBlocks> least;
  };
  struct Row {
    std::size_t index;
    const double* cost;
    const double* dual;
  };

  [[nodiscard]] std::size_t num_first_listed() const noexcept;
  void list(const Row& row, const Minima& minima, std::size_t num_listed);
  [[nodiscard]] static bool are_many_least(double limit, std::span<const double> minima) noexcept;
  [[nodiscard]] std::size_t find_listed(const Row& row, const Minima& minima);
  [[nodiscard]] std::size_t find_some_of_equal(const Row& row, const Minima& minima);
  void keep_cheapest(const Row& row, std::size_t count);

  bool is_lasting_;
  std::size_t num_rows_ = 0;
  std::size_t num_columns_ = 0;
  std::vector<ListedColumn> candidates_;
  std::vector<std::uint32_t> num_candidates_;
  std::vector<double> rest_;
  std::vector<std::int32_t> found_;  // columns, and of these those at the limit
  std::vector<std::int32_t> equal_;
  std::vector<double> reduced_;  // costs of those found
  std::vector<double> order_;
};

}  // namespace gpusched
