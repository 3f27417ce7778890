#include "solvers/candidate_lists.hpp"

#include <algorithm>
#include <limits>

#include "base/infinity.hpp"

namespace gpusched {
namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr std::size_t kListed = 16;  // blocks with minima that are candidates
constexpr std::size_t kFirstListed = 10;  // the same of rows that may never be listed again

std::size_t at(std::int32_t id) noexcept { return static_cast<std::size_t>(id); }

}  // namespace

void CandidateLists::resize(std::size_t num_rows, std::size_t num_columns) {
  num_rows_ = num_rows;
  num_columns_ = num_columns;
  candidates_.resize(num_rows * kMost);
  num_candidates_.resize(num_rows);
  rest_.resize(num_rows);
  found_.resize(num_columns + 1);
  equal_.resize(num_columns + 1);
  reduced_.resize(num_columns);
  order_.resize(num_columns);
}

CandidateLists::Minima::Minima(std::size_t num_columns) noexcept
    : size(kStep * ((num_columns - 1) / (kStep * kMostBlocks) + 1)),
      count((num_columns - 1) / size + 1) {}

void CandidateLists::list(std::size_t row, const double* cost, const double* dual) {
  Minima minima(num_columns_);
  find_block_minima({cost, num_columns_}, dual, minima.size, minima.least.data());
  list({row, cost, dual}, minima, kListed);
}

void CandidateLists::list_first(std::size_t row, const double* cost, const double* dual) {
  Minima minima(num_columns_);
  find_block_minima({cost, num_columns_}, dual, minima.size, minima.least.data());
  list({row, cost, dual}, minima, num_first_listed());
}

Magnitudes CandidateLists::list_new(std::size_t row, const double* cost, const double* dual) {
  Minima minima(num_columns_);
  const Magnitudes found = find_new_minima({cost, num_columns_}, minima.size, minima.least.data());
  if (found.are_costs) list({row, cost, dual}, minima, num_first_listed());
  return found;
}

std::size_t CandidateLists::num_first_listed() const noexcept {
  return is_lasting_ ? kListed : kFirstListed;
}

/// The columns of least reduced cost, and a bound on all others.
void CandidateLists::list(const Row& row, const Minima& minima, std::size_t num_listed) {
  const bool is_bounded = minima.count > num_listed;
  const double limit = is_bounded ? value_at_rank(minima.all(), num_listed - 1) : kInfinity;
  rest_[row.index] = limit;
  const bool are_enough = !is_lasting_ && are_many_least(limit, minima.all());
  std::size_t count = are_enough ? find_some_of_equal(row, minima) : find_listed(row, minima);
  if (count > kMost) {
    keep_cheapest(row, count);
    count = kMost;
  }
  num_candidates_[row.index] = static_cast<std::uint32_t>(count);
  ListedColumn* const list = &candidates_[row.index * kMost];
  for (std::size_t i = 0; i < count; ++i) list[i] = {row.cost[at(found_[i])], found_[i]};
}

/// Whether the limit is the minimum, shared by as many blocks as there are candidates.
bool CandidateLists::are_many_least(double limit, std::span<const double> minima) noexcept {
  std::size_t num_equal = 0;
  for (const double least : minima) {
    if (least < limit) return false;
    num_equal += least == limit ? 1 : 0;
  }
  return num_equal >= kMost;
}

/// Finds the columns of the blocks whose minima are within the bound; returns their number.
std::size_t CandidateLists::find_listed(const Row& row, const Minima& minima) {
  const double largest = std::min(rest_[row.index], kLargest);
  std::size_t count = 0;
  for (std::size_t block = 0; block < minima.count; ++block) {
    if (minima.least[block] > largest) continue;
    const std::size_t begin = block * minima.size;
    while (block + 1 < minima.count && minima.least[block + 1] <= largest) ++block;
    const std::size_t end = std::min((block + 1) * minima.size, num_columns_);
    count += find_up_to(largest, row.cost, row.dual, begin, end, &found_[count]);
  }
  return count;
}

/// Keeps cheapest columns, up to the list size, starting from a block that differs by row so that
/// rows do not all compete for the same.
std::size_t CandidateLists::find_some_of_equal(const Row& row, const Minima& minima) {
  const std::size_t first = minima.count * row.index / num_rows_;
  std::size_t count = 0;
  for (std::size_t i = 0; i < minima.count && count < kMost; ++i) {
    const std::size_t block = (first + i) % minima.count;
    if (minima.least[block] > rest_[row.index]) continue;
    const std::size_t end = std::min((block + 1) * minima.size, num_columns_);
    count +=
        find_up_to(rest_[row.index], row.cost, row.dual, block * minima.size, end, &found_[count]);
  }
  return std::min(count, kMost);
}

/// Keeps the cheapest of the found columns; ties at the limit start from a column that differs by
/// row, so that rows do not all compete for the same.
void CandidateLists::keep_cheapest(const Row& row, std::size_t count) {
  double* const reduced = reduced_.data();
  for (std::size_t i = 0; i < count; ++i)
    reduced[i] = row.cost[at(found_[i])] - row.dual[at(found_[i])];
  double limit = rest_[row.index];
  const auto num_below =
      std::count_if(reduced, reduced + count, [=](double each) { return each < limit; });
  if (static_cast<std::size_t>(num_below) >= kMost) {
    double* const order = order_.data();
    std::copy_n(reduced, count, order);
    std::nth_element(order, order + kMost - 1, order + count);
    limit = rest_[row.index] = order[kMost - 1];
  }
  std::size_t num_kept = 0;
  std::size_t num_equal = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t column = found_[i];
    found_[num_kept] = equal_[num_equal] = column;
    num_kept += reduced[i] < limit ? 1 : 0;
    num_equal += reduced[i] == limit ? 1 : 0;
  }
  std::size_t next = num_equal * row.index / num_rows_;
  for (; num_kept < kMost; ++num_kept) {
    found_[num_kept] = equal_[next];
    if (++next == num_equal) next = 0;
  }
}

}  // namespace gpusched
