#include "solvers/full_rows.hpp"

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

/// The values of `kLanes` columns, in as many registers as needed.
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

  /// Ties go to the first.
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

/// The lowest over the unassigned columns, and over the assigned ones.
template <class Lanes>
class Sides {
 public:
  using Wholes = typename Group<Lanes>::Wholes;
  static constexpr std::size_t kWidth = Group<Lanes>::kWidth;
  static constexpr std::size_t kCount = Group<Lanes>::kCount;

  [[gnu::always_inline]] Sides() noexcept {
    const std::array<std::int64_t, kLanes> first{0, 1, 2, 3};
    for (std::size_t i = 0; i < kCount; ++i) load_whole<Lanes>(&first[i * kWidth], columns_[i]);
  }

  /// The next columns of the lanes `i`.
  [[gnu::always_inline]] void take_next(std::size_t i, const Lanes& value,
                                        const std::int64_t* taken) noexcept {
    Wholes is_taken;
    load_whole<Lanes>(taken, is_taken);
    free_.take(i, value, columns_[i], is_taken == 0);
    taken_.take(i, value, columns_[i], is_taken != 0);
    columns_[i] += static_cast<std::int64_t>(kLanes);
  }

  [[nodiscard]] [[gnu::always_inline]] LeastColumns found() const noexcept {
    LeastColumns found;
    free_.store(found.free, found.free_column);
    taken_.store(found.taken, found.taken_column);
    return found;
  }

 private:
  Group<Lanes> free_;
  Group<Lanes> taken_;
  Wholes columns_[kCount];
};

/// One column more, which comes after all others.
void take_last(LeastColumns& found, double value, std::size_t column, bool is_taken) noexcept {
  double& least = is_taken ? found.taken : found.free;
  if (!(value < least)) return;
  least = value;
  (is_taken ? found.taken_column : found.free_column) = static_cast<std::int64_t>(column);
}

struct TwoLeastLoop {
  const double* cost;
  const double* dual;
  std::size_t count;
  TakenColumns taken;

  template <class Lanes>
  [[gnu::always_inline]] TwoLeast operator()() const noexcept {
    using Its = Sides<Lanes>;
    Its sides;
    LeastPair<Lanes> pairs[Its::kCount];
    std::size_t at = 0;
    for (; at + kLanes <= count; at += kLanes) {
#pragma GCC unroll 2
      for (std::size_t i = 0; i < Its::kCount; ++i) {
        const std::size_t begin = at + i * Its::kWidth;
        Lanes reduced;
        Lanes less;
        take(reduced, cost + begin);
        take(less, dual + begin);
        reduced -= less;
        sides.take_next(i, reduced, taken + begin);
        pairs[i].take(reduced);
      }
    }
    LeastColumns found = sides.found();
    LeastPair<double> two = joined(pairs);
    for (; at < count; ++at) {
      const double reduced = cost[at] - dual[at];
      take_last(found, reduced, at, taken[at] != 0);
      two.take(reduced);
    }
    return {two, found.free <= found.taken ? found.free_column : found.taken_column};
  }
};

struct ReachLoop {
  Reach reach;
  std::int64_t row;
  double floor;
  std::size_t count;
  TakenColumns taken;
  OpenColumns open;

  template <class Lanes>
  [[gnu::always_inline]] LeastColumns operator()() const noexcept {
    using Its = Sides<Lanes>;
    using Wholes = typename Its::Wholes;
    Its sides;
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
        take(distance, reach.cost + begin);
        take(less, reach.dual + begin);
        take(known, open.distance + begin);
        load_whole<Lanes>(open.from + begin, from);
        distance = reach.base + (distance - less);
        distance = distance < least ? least : distance;
        const auto is_nearer = distance < known;
        known = is_nearer ? distance : known;
        from = is_nearer ? from_row : from;
        put(open.distance + begin, known);
        std::memcpy(open.from + begin, &from, sizeof from);
        sides.take_next(i, known == -none ? none : known, taken + begin);
      }
    }
    LeastColumns found = sides.found();
    for (; at < count; ++at) {
      double& known = open.distance[at];
      const double distance = std::max(reach.base + (reach.cost[at] - reach.dual[at]), floor);
      if (distance < known) {
        known = distance;
        open.from[at] = row;
      }
      if (known != -kInfinity) take_last(found, known, at, taken[at] != 0);
    }
    return found;
  }
};

}  // namespace

TwoLeast two_least(const double* cost, const double* dual, std::size_t count,
                   TakenColumns taken) noexcept {
  return run_in_lanes(TwoLeastLoop{cost, dual, count, taken});
}

LeastColumns reach_all(const Reach& reach, std::int64_t row, double floor, std::size_t count,
                       TakenColumns taken, const OpenColumns& open) noexcept {
  return run_in_lanes(ReachLoop{reach, row, floor, count, taken, open});
}

}  // namespace gpusched
