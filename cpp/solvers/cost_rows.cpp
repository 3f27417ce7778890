#include "solvers/cost_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"
#include "solvers/magnitudes.hpp"

namespace gpusched {
namespace {

// Inlined into functions compiled for different processors. All process the same number of columns
// at once, so that the choice between 0 and -0 does not depend on the processor.

template <class Lanes>
struct Step {
  using Flags = decltype(Lanes{} < Lanes{});  // of each lane: all bits, or none

  static constexpr std::size_t kWidth = sizeof(Lanes) / sizeof(double);
  static constexpr std::size_t kCount = kStep / kWidth;
};

struct PlainValues {
  const double* values;

  template <class Lanes>
  [[gnu::always_inline]] void get(std::size_t at, Lanes& out) const noexcept {
    std::memcpy(&out, values + at, sizeof(Lanes));
  }
};

struct ReducedCosts {
  const double* cost;
  const double* dual;

  template <class Lanes>
  [[gnu::always_inline]] void get(std::size_t at, Lanes& out) const noexcept {
    Lanes less;
    std::memcpy(&out, cost + at, sizeof(Lanes));
    std::memcpy(&less, dual + at, sizeof(Lanes));
    out -= less;
  }
};

/// The magnitudes of all costs that are taken.
template <class Lanes>
struct MagnitudeLanes {
  using Flags = typename Step<Lanes>::Flags;
  static constexpr std::size_t kWidth = Step<Lanes>::kWidth;

  Lanes greatest{};
  Flags bad{};
  Magnitudes rest{0, true};

  [[gnu::always_inline]] void take(const Lanes& each) noexcept {
    const Lanes magnitude = each < -each ? -each : each;
    const auto is_number = magnitude <= Lanes{} + kMostCost;
    const Lanes finite = is_number ? magnitude : Lanes{};
    greatest = finite > greatest ? finite : greatest;
    bad |= ~(is_number | (each == Lanes{} + kInfinity));
  }
  [[gnu::always_inline]] void take(double each) noexcept {
    const double magnitude = std::fabs(each);
    if (magnitude <= kMostCost) {
      rest.greatest = std::max(rest.greatest, magnitude);
    } else {
      rest.are_costs = rest.are_costs && each == kInfinity;
    }
  }
  [[nodiscard]] [[gnu::always_inline]] Magnitudes found() const noexcept {
    std::array<double, kWidth> lanes;
    std::array<std::int64_t, kWidth> flags;
    std::memcpy(lanes.data(), &greatest, sizeof lanes);
    std::memcpy(flags.data(), &bad, sizeof flags);
    Magnitudes all = rest;
    for (const double each : lanes) all.greatest = std::max(all.greatest, each);
    for (const std::int64_t flag : flags) all.are_costs = all.are_costs && flag == 0;
    return all;
  }
};

template <class Lanes>
[[gnu::always_inline]] inline Magnitudes magnitudes(std::span<const double> cost) noexcept {
  MagnitudeLanes<Lanes> all;
  std::size_t at = 0;
  for (; at + Step<Lanes>::kWidth <= cost.size(); at += Step<Lanes>::kWidth) {
    Lanes each;
    take(each, cost.data() + at);
    all.take(each);
  }
  for (; at < cost.size(); ++at) all.take(cost[at]);
  return all.found();
}

/// Values whose magnitudes are found while they are read.
template <class Lanes>
struct NewCosts {
  const double* cost;
  MagnitudeLanes<Lanes> magnitudes;

  template <class Read>
  [[gnu::always_inline]] void get(std::size_t at, Read& out) noexcept {
    std::memcpy(&out, cost + at, sizeof out);
    magnitudes.take(out);
  }
};

template <class Lanes, class Values>
[[gnu::always_inline]] inline double least_of(Values& values, std::size_t begin,
                                              std::size_t end) noexcept {
  using Its = Step<Lanes>;
  Lanes least[Its::kCount];
  for (Lanes& each : least) each = Lanes{} + kInfinity;
  for (; begin + kStep <= end; begin += kStep) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      Lanes each;
      values.get(begin + i * Its::kWidth, each);
      least[i] = each < least[i] ? each : least[i];
    }
  }
  std::array<double, kStep> lanes;
  std::memcpy(lanes.data(), least, sizeof lanes);
  for (; begin < end; ++begin) {
    double each;
    values.get(begin, each);
    lanes[0] = each < lanes[0] ? each : lanes[0];
  }
  return *std::min_element(lanes.begin(), lanes.end());
}

template <class Lanes, class Values>
[[gnu::always_inline]] inline void minima_of(Values&& values, std::size_t count, std::size_t size,
                                             double* least) noexcept {
  for (std::size_t begin = 0; begin < count; begin += size) {
    *least++ = least_of<Lanes>(values, begin, std::min(begin + size, count));
  }
}

using StepFlags = std::array<std::int64_t, kStep>;

template <class Flags>
[[gnu::always_inline]] inline StepFlags each_of(const Flags* flags) noexcept {
  StepFlags each;
  std::memcpy(each.data(), flags, sizeof each);
  return each;
}

[[gnu::always_inline]] inline bool is_any(const StepFlags& flags) noexcept {
  std::int64_t any = 0;
  for (const std::int64_t flag : flags) any |= flag;
  return any != 0;
}

template <class Lanes>
[[gnu::always_inline]] inline std::int64_t count_below(double value,
                                                       std::span<const double> values) noexcept {
  using Its = Step<Lanes>;
  typename Its::Flags below[Its::kCount]{};
  std::size_t at = 0;
  for (; at + kStep <= values.size(); at += kStep) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      Lanes each;
      take(each, values.data() + at + i * Its::kWidth);
      below[i] -= each < value;
    }
  }
  std::int64_t count = 0;
  for (const std::int64_t lane : each_of(below)) count += lane;
  for (; at < values.size(); ++at) count += values[at] < value ? 1 : 0;
  return count;
}

/// The greatest of those that no more than `rank` others are below; infinity is a value as well.
template <class Lanes>
[[gnu::always_inline]] inline double at_rank(std::span<const double> values,
                                             std::size_t rank) noexcept {
  double found = -kInfinity;
  double beyond = std::numeric_limits<double>::quiet_NaN();  // no value is known to be
  for (const double each : values) {
    if (each <= found || each >= beyond) continue;
    const std::int64_t below = count_below<Lanes>(each, values);
    if (below == static_cast<std::int64_t>(rank)) return each;
    (below < static_cast<std::int64_t>(rank) ? found : beyond) = each;
  }
  return found;
}

template <class Lanes>
[[gnu::always_inline]] inline LeastPair<double> two_of(std::span<const double> values) noexcept {
  using Its = Step<Lanes>;
  constexpr std::size_t kHalf = Its::kCount / 2;
  LeastPair<Lanes> pairs[Its::kCount];
  std::size_t at = 0;
  for (; at + kStep <= values.size(); at += kStep) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      Lanes each;
      take(each, values.data() + at + i * Its::kWidth);
      pairs[i].take(each);
    }
  }
  for (std::size_t i = 0; i < kHalf; ++i) pairs[i].join(pairs[i + kHalf]);
  LeastPair<double> found = joined(pairs);
  for (; at < values.size(); ++at) found.take(values[at]);
  return found;
}

template <class Lanes>
[[gnu::always_inline]] inline std::size_t up_to(double limit, const ReducedCosts& reduced,
                                                std::size_t begin, std::size_t end,
                                                std::int32_t* columns) noexcept {
  using Its = Step<Lanes>;
  std::size_t count = 0;
  const auto keep = [&](std::size_t column, bool is_within) {
    columns[count] = static_cast<std::int32_t>(column);
    count += is_within ? 1 : 0;
  };
  for (; begin + kStep <= end; begin += kStep) {
    typename Its::Flags within[Its::kCount];
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      Lanes each;
      reduced.get(begin + i * Its::kWidth, each);
      within[i] = each <= limit;
    }
    const StepFlags flags = each_of(within);
    if (!is_any(flags)) continue;
    for (std::size_t i = 0; i < kStep; ++i) keep(begin + i, flags[i] != 0);
  }
  for (; begin < end; ++begin) {
    double each;
    reduced.get(begin, each);
    keep(begin, each <= limit);
  }
  return count;
}

template <class Lanes>
[[gnu::always_inline]] inline bool is_nearer(const Reach& reach, const double* known, double bound,
                                             std::size_t begin, std::size_t end) noexcept {
  using Its = Step<Lanes>;
  const ReducedCosts reduced{reach.cost, reach.dual};
  typename Its::Flags nearer[Its::kCount]{};
  for (; begin + kStep <= end; begin += kStep) {
#pragma GCC unroll 4
    for (std::size_t i = 0; i < Its::kCount; ++i) {
      Lanes distance;
      Lanes before;
      reduced.get(begin + i * Its::kWidth, distance);
      std::memcpy(&before, known + begin + i * Its::kWidth, sizeof(Lanes));
      distance += reach.base;
      nearer[i] |= (distance < before) & (distance < bound);
    }
  }
  if (is_any(each_of(nearer))) return true;
  for (; begin < end; ++begin) {
    const double distance = reach.base + (reach.cost[begin] - reach.dual[begin]);
    if (distance < known[begin] && distance < bound) return true;
  }
  return false;
}

template <class Values>
void find_minima(Values values, std::size_t count, std::size_t size, double* least) noexcept {
  run_in_lanes([=]<class Lanes>() __attribute__((always_inline)) {
    minima_of<Lanes>(values, count, size, least);
  });
}

}  // namespace

Magnitudes magnitudes_of(std::span<const double> cost) noexcept {
  return run_in_lanes([=]<class Lanes>()
                          __attribute__((always_inline)) { return magnitudes<Lanes>(cost); });
}

void find_block_minima(std::span<const double> cost, const double* dual, std::size_t size,
                       double* least) noexcept {
  find_minima(ReducedCosts{cost.data(), dual}, cost.size(), size, least);
}

Magnitudes find_new_minima(std::span<const double> cost, std::size_t size, double* least) noexcept {
  return run_in_lanes([=]<class Lanes>() __attribute__((always_inline)) {
    NewCosts<Lanes> costs{cost.data(), {}};
    minima_of<Lanes>(costs, cost.size(), size, least);
    return costs.magnitudes.found();
  });
}

void find_block_minima(std::span<const double> values, std::size_t size, double* least) noexcept {
  find_minima(PlainValues{values.data()}, values.size(), size, least);
}

double value_at_rank(std::span<const double> values, std::size_t rank) noexcept {
  return run_in_lanes([=]<class Lanes>()
                          __attribute__((always_inline)) { return at_rank<Lanes>(values, rank); });
}

LeastPair<double> least_two(std::span<const double> values) noexcept {
  return run_in_lanes([=]<class Lanes>()
                          __attribute__((always_inline)) { return two_of<Lanes>(values); });
}

std::size_t find_up_to(double limit, const double* cost, const double* dual, std::size_t begin,
                       std::size_t end, std::int32_t* columns) noexcept {
  return run_in_lanes([=]<class Lanes>() __attribute__((always_inline)) {
    return up_to<Lanes>(limit, ReducedCosts{cost, dual}, begin, end, columns);
  });
}

bool comes_nearer(const Reach& reach, const double* known, double bound, std::size_t begin,
                  std::size_t end) noexcept {
  return run_in_lanes([&]<class Lanes>() __attribute__((always_inline)) {
    return is_nearer<Lanes>(reach, known, bound, begin, end);
  });
}

}  // namespace gpusched
