#pragma once

#include <cstddef>
#include <cstring>
#include <span>

#include "base/infinity.hpp"
#include "solvers/lanes.hpp"

namespace gpusched {

/// The cost of a configuration in each segment in which it fits in every slot; infinity elsewhere.
struct WholeCosts {
  std::span<const double> prices;   ///< of a GPU
  std::span<const double> free;     ///< GPUs, at least
  std::span<const double> lengths;  ///< ticks; none or fewer: there is no such segment
  double gpus;
  double* costs;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    for (std::size_t at = 0; at < lengths.size(); at += kNumLanes<Lanes>) {
      Lanes price;
      Lanes own_free;
      Lanes length;
      take(price, &prices[at]);
      take(own_free, &free[at]);
      take(length, &lengths[at]);
      const auto fits = (own_free >= gpus) & (length > 0.0);
      put(costs + at, fits ? price * gpus : Lanes{} + kInfinity);
    }
  }
};

/// Whole quanta done in each segment after a loss of ticks; -1 if these are all.
struct WholeQuanta {
  std::span<const double> lengths;
  double lost;
  double rate;
  double quantum;
  double most;  ///< of them count; far fewer than kWhole
  double* quanta;

  /// A sum with it is rounded to a whole number.
  static constexpr double kWhole = 4503599627370496.0;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    for (std::size_t at = 0; at < lengths.size(); at += kNumLanes<Lanes>) {
      Lanes length;
      take(length, &lengths[at]);
      const Lanes runs = length - lost;
      const Lanes own = runs * rate / quantum;
      const Lanes counted = own < most ? own : Lanes{} + most;
      const Lanes near = (counted + kWhole) - kWhole;
      const Lanes whole = near > counted ? near - 1.0 : near;
      put(quanta + at, runs > 0.0 ? whole : Lanes{} - 1.0);
    }
  }
};

/// Cost and work in each segment, as if it could be left early: at the lowest price of a tick if it
/// fits in some slot; and at the sum of the prices if it fits in all of them.
struct RelaxedCosts {
  std::span<const double> prices;
  std::span<const double> least_prices;  ///< of a tick
  std::span<const double> free;
  std::span<const double> most_free;  ///< in some slot
  std::span<const double> lengths;
  double gpus;
  double rate;
  double* parts;
  double* whole;
  double* done;

  template <class Lanes>
  [[gnu::always_inline]] void operator()() const noexcept {
    for (std::size_t at = 0; at < lengths.size(); at += kNumLanes<Lanes>) {
      Lanes price;
      Lanes least_price;
      Lanes fewest;
      Lanes most;
      Lanes length;
      take(price, &prices[at]);
      take(least_price, &least_prices[at]);
      take(fewest, &free[at]);
      take(most, &most_free[at]);
      take(length, &lengths[at]);
      const auto fits = (most >= gpus) & (length > 0.0);
      const Lanes least = least_price * gpus * length;
      const Lanes cost = fewest >= gpus ? price * gpus : least;
      put(parts + at, fits ? least : Lanes{} + kInfinity);
      put(whole + at, fits ? cost : Lanes{} + kInfinity);
      put(done + at, fits ? rate * length : Lanes{});
    }
  }
};

}  // namespace gpusched
