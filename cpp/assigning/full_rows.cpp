#include "assigning/full_rows.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {
namespace {

// Inlined into functions that are compiled for different processors. Values are collected in as
// many lanes on each of them, lest it depend on the processor which of equal ones is found.

constexpr std::size_t kLanes = 4;

/// Infinity is a value that no column is found for.
template <class Value, class Column>
struct Least {
  Value value = Value{} + kInfinity;
  Column column = Column{} - 1;

  [[gnu::always_inline]] void take(const Value& other, const Column& at) noexcept {
    const auto is_less = other < value;
    value = is_less ? other : value;
    column = is_less ? at : column;
  }
};

template <class Lanes>
struct Whole;
template <>
struct Whole<FourLanes> {
  using Type [[gnu::vector_size(4 * sizeof(double))]] = std::int64_t;
};
template <>
struct Whole<TwoLanes> {
  using Type [[gnu::vector_size(2 * sizeof(double))]] = std::int64_t;
};

/// The values of `kLanes` columns side by side, in as many registers as it takes.
template <class Lanes>
struct Group {
  using Wholes = typename Whole<Lanes>::Type;
  static constexpr std::size_t kWidth = sizeof(Lanes) / sizeof(double);
  static constexpr std::size_t kCount = kLanes / kWidth;

  Least<Lanes, Wholes> least[kCount];

  template <class Kept>
  [[gnu::always_inline]] void take(std::size_t i, const Lanes& value, const Wholes& column,
                                   const Kept& is_kept) noexcept {
    least[i].take(is_kept ? value : Lanes{} + kInfinity, column);
  }

  /// Of equal ones the first.
  [[gnu::always_inline]] void store(double& value, std::int64_t& column) const noexcept {
    std::array<double, kLanes> values;
    std::array<std::int64_t, kLanes> columns;
    for (std::size_t i = 0; i < kCount; ++i) {
      std::memcpy(&values[i * kWidth], &least[i].value, sizeof(Lanes));
      std::memcpy(&columns[i * kWidth], &least[i].column, sizeof(Lanes));
    }
    value = values[0];
    column = columns[0];
    for (std::size_t i = 1; i < kLanes; ++i) {
      const bool is_before = values[i] < value || (values[i] == value && columns[i] < column);
      value = is_before ? values[i] : value;
      column = is_before ? columns[i] : column;
    }
  }
};

template <class Lanes>
[[gnu::always_inline]] inline void load_whole(const std::int64_t* from,
                                              typename Whole<Lanes>::Type& out) noexcept {
  std::memcpy(&out, from, sizeof out);
}

/// The columns of the first registers.
template <class Lanes>
[[gnu::always_inline]] inline void first_columns(typename Whole<Lanes>::Type* columns) noexcept {
  const std::array<std::int64_t, kLanes> first{0, 1, 2, 3};
  for (std::size_t i = 0; i < Group<Lanes>::kCount; ++i) {
    load_whole<Lanes>(&first[i * Group<Lanes>::kWidth], columns[i]);
  }
}

template <class Lanes>
[[gnu::always_inline]] inline TwoLeast two_least_of(const double* cost, const double* dual,
                                                    std::size_t count,
                                                    TakenColumns taken) noexcept {
  using Its = Group<Lanes>;
  using Wholes = typename Its::Wholes;
  Its of_free;
  Its of_taken;
  LeastPair<Lanes> pairs[Its::kCount];
  Wholes columns[Its::kCount];
  first_columns<Lanes>(columns);
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      const std::size_t begin = at + i * Its::kWidth;
      Lanes reduced;
      Lanes less;
      Wholes is_taken;
      take(reduced, cost + begin);
      take(less, dual + begin);
      load_whole<Lanes>(taken + begin, is_taken);
      reduced -= less;
      of_free.take(i, reduced, columns[i], is_taken == 0);
      of_taken.take(i, reduced, columns[i], is_taken != 0);
      pairs[i].take(reduced);
      columns[i] += static_cast<std::int64_t>(kLanes);
    }
  }
  LeastColumns found;
  of_free.store(found.free, found.free_column);
  of_taken.store(found.taken, found.taken_column);
  std::array<double, kLanes> least;
  std::array<double, kLanes> second;
  for (std::size_t i = 0; i < Its::kCount; ++i) {
    put(&least[i * Its::kWidth], pairs[i].least);
    put(&second[i * Its::kWidth], pairs[i].second);
  }
  LeastPair<double> two = joined(least.data(), second.data());
  for (; at < count; ++at) {
    const double reduced = cost[at] - dual[at];
    double& known = taken[at] == 0 ? found.free : found.taken;
    if (reduced < known) {
      known = reduced;
      (taken[at] == 0 ? found.free_column : found.taken_column) = static_cast<std::int64_t>(at);
    }
    two.take(reduced);
  }
  return {two, found.free <= found.taken ? found.free_column : found.taken_column};
}

template <class Lanes>
[[gnu::always_inline]] inline LeastColumns reach_all_of(const Reach& reach, std::int64_t row,
                                                        double floor, std::size_t count,
                                                        TakenColumns taken,
                                                        const OpenColumns& open) noexcept {
  using Its = Group<Lanes>;
  using Wholes = typename Its::Wholes;
  Its of_free;
  Its of_taken;
  Wholes columns[Its::kCount];
  first_columns<Lanes>(columns);
  const Lanes least = Lanes{} + floor;
  const Lanes none = Lanes{} + kInfinity;
  const Wholes from_row = Wholes{} + row;
  std::size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
#pragma GCC unroll 2
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      const std::size_t begin = at + i * Its::kWidth;
      Lanes distance;
      Lanes less;
      Lanes known;
      Wholes from;
      Wholes is_taken;
      take(distance, reach.cost + begin);
      take(less, reach.dual + begin);
      take(known, open.distance + begin);
      load_whole<Lanes>(open.from + begin, from);
      load_whole<Lanes>(taken + begin, is_taken);
      distance = reach.base + (distance - less);
      distance = distance < least ? least : distance;
      const auto is_nearer = distance < known;
      known = is_nearer ? distance : known;
      from = is_nearer ? from_row : from;
      put(open.distance + begin, known);
      std::memcpy(open.from + begin, &from, sizeof from);
      known = known == -none ? none : known;
      of_free.take(i, known, columns[i], is_taken == 0);
      of_taken.take(i, known, columns[i], is_taken != 0);
      columns[i] += static_cast<std::int64_t>(kLanes);
    }
  }
  LeastColumns found;
  of_free.store(found.free, found.free_column);
  of_taken.store(found.taken, found.taken_column);
  for (; at < count; ++at) {
    double& known = open.distance[at];
    const double distance = std::max(reach.base + (reach.cost[at] - reach.dual[at]), floor);
    if (distance < known) {
      known = distance;
      open.from[at] = row;
    }
    if (known == -kInfinity) continue;
    double& nearest = taken[at] == 0 ? found.free : found.taken;
    if (known < nearest) {
      nearest = known;
      (taken[at] == 0 ? found.free_column : found.taken_column) = static_cast<std::int64_t>(at);
    }
  }
  return found;
}

#if defined(__x86_64__)

[[gnu::target("avx2")]] TwoLeast two_least_by_avx2(const double* cost, const double* dual,
                                                   std::size_t count, TakenColumns taken) noexcept {
  return two_least_of<FourLanes>(cost, dual, count, taken);
}

[[gnu::target("avx2")]] LeastColumns reach_all_by_avx2(const Reach& reach, std::int64_t row,
                                                       double floor, std::size_t count,
                                                       TakenColumns taken,
                                                       const OpenColumns& open) noexcept {
  return reach_all_of<FourLanes>(reach, row, floor, count, taken, open);
}

#endif

}  // namespace

TwoLeast two_least(const double* cost, const double* dual, std::size_t count,
                   TakenColumns taken) noexcept {
#if defined(__x86_64__)
  if (takes_four_lanes) return two_least_by_avx2(cost, dual, count, taken);
#endif
  return two_least_of<TwoLanes>(cost, dual, count, taken);
}

LeastColumns reach_all(const Reach& reach, std::int64_t row, double floor, std::size_t count,
                       TakenColumns taken, const OpenColumns& open) noexcept {
#if defined(__x86_64__)
  if (takes_four_lanes) return reach_all_by_avx2(reach, row, floor, count, taken, open);
#endif
  return reach_all_of<TwoLanes>(reach, row, floor, count, taken, open);
}

}  // namespace gpusched
