#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/stop_check.hpp"
#include "solvers/candidate_lists.hpp"

namespace gpusched {

/// Dense least-cost assignment: every row gets a column of its own or, if there are more rows than
/// columns, every column a row. Exact up to rounding: the sum exceeds the optimum by less than rows
/// x 2^-30 of the greatest finite cost above the lowest. Deterministic on every machine.
///
/// Shortest augmenting paths on a short list of candidates per row. A list has a bound on the
/// omitted costs, which stays valid as column duals fall, so a row is read in full only if a path
/// comes near that bound. If bids leave many rows over, the start is better duals: of a sample, or
/// of auctions with falling epsilon. Jonker, Volgenant, "A shortest augmenting path algorithm for
/// dense and sparse linear assignment problems", Computing 38, 1987.
class Assignment {
 public:
  /// Optimal duals: row_dual[i] + column_dual[j] <= cost[i][j], equal where i has j, and they sum
  /// up to the cost. The duals of the longer side are at most 0, and 0 where nothing is assigned;
  /// -column_dual are prices that clear the market if rows <= columns.
  struct Result {
    std::vector<std::int32_t> column_of_row;  ///< -1: none
    std::vector<double> row_dual;
    std::vector<double> column_dual;
    double cost = 0;
  };

  /// How the start is chosen, which decides among equal optima: the best start available, or a
  /// frozen one, for decisions that must never change.
  enum class Start { best, frozen_ties };

  explicit Assignment(Start start = Start::best)
      : start_(start), lists_(start == Start::frozen_ties) {}
  /// For a solver that solves again before a row changes: borrowed costs are not copied.
  Assignment(const Assignment&) = default;
  Assignment(Assignment&&) = default;
  Assignment& operator=(Assignment&&) = default;

  /// Sets the stop check of all later calls; null: none. An interrupted call has no result.
  void listen_to(StopCheck* stop) noexcept { stop_ = stop; }

  /// `cost` by row, rows x columns; infinity forbids a pair. Rows beyond the columns are copied;
  /// otherwise it is borrowed, and must not change until the last `change_row`. Does not allocate
  /// if an earlier problem was as large. InvalidInput for NaN, for finite values beyond -1e300 and
  /// 1e300, and if there are too few allowed pairs: then there is no result until the next solve.
  const Result& solve(std::span<const double> cost, int rows, int columns);

  /// Solves again after the costs of one row became `cost` (copied): by one augmenting path from
  /// the duals so far, or from scratch where costs far greater than the present ones have left
  /// these too coarse. Errors as in `solve`; each leaves the costs and the result as they were.
  const Result& change_row(int row, std::span<const double> cost);

  [[nodiscard]] const Result& result() const noexcept { return result_; }

 private:
  /// A column that a path reaches, or (from num_columns_ on) a row with an exhausted list.
  struct Event {
    double distance;
    std::int32_t what;
  };

  static std::int32_t id(std::size_t index) noexcept { return static_cast<std::int32_t>(index); }
  static std::size_t at(std::int32_t id) noexcept { return static_cast<std::size_t>(id); }

  void load(std::span<const double> cost, int rows, int columns);
  void transpose(const double* cost) noexcept;
  void run();
  void clear();
  void set_costs(std::size_t row, std::span<const double> cost);
  void search_again(std::size_t row);
  static double check(std::span<const double> cost, std::size_t row);
  static double accepted(const Magnitudes& found, std::span<const double> cost, std::size_t row);
  [[nodiscard]] double greatest_cost() const noexcept;
  void resize_rows();
  void take_in(std::size_t row);
  void list_candidates(std::size_t row);
  bool hold_auction(double epsilon);
  [[nodiscard]] std::int32_t bid(std::size_t row, double epsilon);
  [[nodiscard]] std::size_t first_of(double least, std::span<const double> reduced,
                                     std::size_t row);
  [[nodiscard]] std::int32_t bid_on_all(std::size_t row);
  std::int32_t take(std::size_t row, std::size_t column, double cost, double lower);
  void improve_start(bool are_bids_spent);
  [[nodiscard]] bool solve_on_cheap_columns();
  [[nodiscard]] std::size_t mark_cheap_columns(std::size_t row);
  const Result& solve_smaller(std::size_t rows, std::size_t columns);
  void take_over(const Result& found);
  void add_idle_rows();
  void drop_idle_rows(std::size_t num_own_rows);
  [[nodiscard]] bool start_from_sample();
  void lower_epsilon();
  void list_all();
  void renew_row(std::size_t row);
  void renew_column(std::size_t column);

  void augment(std::size_t source, std::int32_t target);
  void augment_on_all(std::size_t source);
  [[noreturn]] void fail_unassigned();
  [[nodiscard]] bool advance();
  void expand(std::int32_t column);
  void exhaust(std::size_t row);
  void find_nearest();
  void find_ready();
  void become_dense();
  void reach(std::size_t column, std::size_t row, double distance);
  void reach_from(std::size_t row, double base);
  void reach_from_all(std::size_t row, double base);
  void reach_from_idle(double base);
  void push(double distance, std::size_t what);
  [[nodiscard]] static bool is_later(const Event& a, const Event& b) noexcept;
  void finish_path(std::size_t source);
  void report();

  [[nodiscard]] double row_dual(std::size_t row) const noexcept {
    return own_cost_[row] - column_dual_[static_cast<std::size_t>(column_of_[row])];
  }

  // Rows are the shorter side here. Columns left over belong to an idle row that costs nothing.
  std::size_t num_rows_ = 0;
  std::size_t num_columns_ = 0;
  Start start_;
  bool is_transposed_ = false;
  bool is_solved_ = false;
  bool is_amiss_ = false;  // a search was ended halfway: the next one is from scratch
  std::vector<const double*> cost_;  // of each row
  std::vector<double> transposed_;
  std::vector<double> idle_cost_;  // of each row there is to make the problem square
  std::vector<std::vector<double>> changed_;  // rows that were changed
  std::vector<double> before_change_;         // the costs of such a row
  Ref<StopCheck> stop_;

  // Rounding scale of the duals: the greatest number added since all were last recomputed.
  double coarsest_ = 0;
  double usual_ratio_ = 1;         // of that to the greatest cost, after solving from scratch
  std::vector<double> greatest_;  // finite magnitude among the costs of each of the user's rows

  std::vector<double> column_dual_;
  std::vector<std::int32_t> column_of_;
  std::vector<std::int32_t> row_of_;
  std::vector<double> own_cost_;  // of a row's own column

  CandidateLists lists_;
  std::vector<double> order_;

  // So few columns that rows are read in full, and have no lists until one changes.
  bool has_few_columns_ = false;
  std::vector<std::int64_t> taken_;  // of each column: all bits where a row has it
  std::vector<std::int64_t> from_;   // and the row from which it is reached

  // A part of the problem that is solved first, and the columns that suffice for all rows.
  std::vector<double> smaller_cost_;
  std::vector<Assignment> smaller_;  // one, or none yet
  std::vector<char> is_cheap_;
  std::vector<std::int32_t> cheap_;

  // Equal rows that follow each other are of one kind: they have one dual, so that a search gains
  // nothing from the second one it comes to.
  std::vector<std::int32_t> kind_;
  std::vector<std::uint32_t> last_search_;  // that came to a kind

  // The search for a path.
  std::uint32_t search_ = 0;
  double bound_ = 0;  // length of the shortest path so far
  std::int32_t end_ = 0;  // its last column
  double floor_ = 0;  // no column is nearer from now on
  std::int32_t target_ = 0;  // the only column a path may end in, -1: any free one
  double idle_base_ = 0;  // where the idle row was reached, infinity: not yet
  std::int32_t idle_column_ = 0;  // and its column there
  std::vector<double> distance_;  // infinity: not reached
  std::vector<std::int32_t> before_;  // row from which a column is reached
  std::vector<std::int32_t> touched_;
  std::vector<std::int32_t> done_;
  std::vector<double> base_;  // of a row: what is added to cost - column dual
  std::vector<std::uint32_t> next_listing_;  // first search in which a row may be relisted
  std::vector<Event> events_;

  // Once many rows were read in full: columns are here instead of among the events.
  bool is_dense_ = false;
  int num_dense_ = 0;  // rows read in full
  std::vector<double> open_;  // distance of those reached and not gone on from
  std::vector<double> least_open_;  // of each chunk of columns
  double nearest_ = 0;  // of all
  bool is_nearest_stale_ = false;
  std::vector<std::int32_t> ready_;  // columns of that distance

  Result result_;
};

}  // namespace gpusched
