#include "deadlines/prices.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

constexpr double kLeastRatio = 10.0;
constexpr double kGreatestRatio = 1e6;
/// Maximum GPUs of a type: the table has a price for each.
constexpr std::int64_t kMostGpus = std::int64_t{1} << 22;
/// Between a floor and the price of the last GPU.
constexpr double kLeastSpan = 2.0;
/// Entries of a table before it is the next one's turn.
constexpr int kInTurn = 32;
/// Usual upper bound on the error of a root's guess.
constexpr double kGuessError = 2e-15;

double power(double base, int exponent) noexcept {
  double result = 1.0;
  for (; exponent > 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result *= base;
    base *= base;
  }
  return result;
}

}  // namespace

PriceRule price_rule_of(std::string_view name) {
  if (name == "market") return PriceRule::market;
  if (name == "density") return PriceRule::density;
  if (name == "theory") return PriceRule::theory;
  if (name == "constant") return PriceRule::constant;
  fail_input("prices: '" + std::string(name) +
             "' is unknown; allowed: market, density, theory, constant");
}

double portable_root(double value, int degree) {
  if (!(value >= 1.0) || degree < 1) {
    throw std::invalid_argument("the number must be at least 1 and the degree positive");
  }
  double low = 1.0;
  double high = value;
  const auto narrow = [&](double at) {
    if (at > low && at < high) (power(at, degree) <= value ? low : high) = at;
  };
  // Products grow with their factors, rounded or not: wherever the search begins, it ends at the
  // same number.
  const double guess = std::pow(value, 1.0 / degree);
  narrow(guess * (1.0 - kGuessError));
  narrow(guess * (1.0 + kGuessError));
  for (;;) {
    const double middle = low + (high - low) / 2.0;
    if (middle <= low || middle >= high) return low;
    narrow(middle);
  }
}

Prices::Prices(PriceRule rule, std::span<const std::int64_t> type_gpus)
    : rule_(rule), types_(type_gpus.size()) {
  for (std::size_t i = 0; i < types_.size(); ++i) {
    if (type_gpus[i] < 0 || type_gpus[i] > kMostGpus) {
      fail_input("cluster: GPU type " + std::to_string(i) + " has " + std::to_string(type_gpus[i]) +
                 " GPUs; it must have 0 to " + std::to_string(kMostGpus));
    }
    types_[i].gpus = static_cast<int>(type_gpus[i]);
    types_[i].exponent_gpus = types_[i].next_entry = types_[i].gpus;
    types_[i].table.assign(static_cast<std::size_t>(type_gpus[i]) + 1, 1.0);
    all_gpus_ += type_gpus[i];
  }
}

void Prices::see(int type, const Sight& sight) {
  Type& own = types_[static_cast<std::size_t>(type)];
  const double per_gpu = sight.value / static_cast<double>(sight.least_gpus);
  if (!own.is_seen) {
    own.least_density = sight.least_density;
    own.greatest_density = sight.greatest_density;
    own.greatest_value_per_gpu = per_gpu;
    own.is_seen = true;
  }
  own.least_density = std::min(own.least_density, sight.least_density);
  own.greatest_density = std::max(own.greatest_density, sight.greatest_density);
  own.greatest_value_per_gpu = std::max(own.greatest_value_per_gpu, per_gpu);
  own.greatest_gpus = std::max(own.greatest_gpus, sight.greatest_gpus);
  least_value_ = least_value_ == 0.0 ? sight.value : std::min(least_value_, sight.value);
}

void Prices::see_window(std::int64_t slots) {
  longest_window_ = std::max(longest_window_, slots);
  for (Type& type : types_) {
    if (type.is_seen) renew(type);
  }
  fill_tables();
}

void Prices::renew(Type& type) {
  Bounds bounds{};
  int exponent_gpus = std::max(1, type.gpus);
  if (rule_ == PriceRule::theory) {
    bounds.high = type.greatest_value_per_gpu;
    bounds.low = least_value_ /
                 (2.0 * static_cast<double>(longest_window_) * static_cast<double>(all_gpus_));
    // From here on no configuration fits: the price must have reached what none would pay.
    exponent_gpus = std::max(1, type.gpus - type.greatest_gpus + 1);
  } else {
    // The lowest bid must be able to pay for unused GPUs: if the bounds are too far apart, lower
    // the upper one.
    bounds.low = std::min(type.least_density / 4.0, type.greatest_density / kLeastRatio);
    bounds.high = std::min(type.greatest_density, bounds.low * kGreatestRatio);
    if (rule_ == PriceRule::market) {
      bounds.low = std::max(bounds.low, type.floor);
      bounds.high = std::max(bounds.high, bounds.low * kLeastSpan);
    }
  }
  bounds.high = std::max(bounds.high, bounds.low);
  if (bounds == type.bounds && exponent_gpus == type.exponent_gpus) return;
  type.bounds = bounds;
  type.exponent_gpus = exponent_gpus;
  if (rule_ == PriceRule::constant) {
    std::fill(type.table.begin(), type.table.end(), bounds.low);
    type.next_entry = exponent_gpus;
    return;
  }
  type.next_entry = 0;
  type.next_price = bounds.low;
  type.step = portable_root(bounds.high / bounds.low, exponent_gpus);
  // From there on the price is the upper bound, whatever rounding does.
  const auto last = std::min(type.table.size(), static_cast<std::size_t>(exponent_gpus));
  std::fill(type.table.begin() + static_cast<std::ptrdiff_t>(last), type.table.end(), bounds.high);
}

/// In turns: in a table each entry waits for the one before.
void Prices::fill_tables() {
  for (bool is_filled = false; !is_filled;) {
    is_filled = true;
    for (Type& type : types_) {
      const int end = std::min(type.exponent_gpus, type.next_entry + kInTurn);
      double price = type.next_price;
      for (int g = type.next_entry; g < end; ++g) {
        type.table[static_cast<std::size_t>(g)] = std::min(price, type.bounds.high);
        price *= type.step;
      }
      type.next_entry = end;
      type.next_price = price;
      is_filled = is_filled && end == type.exponent_gpus;
    }
  }
}

}  // namespace gpusched
