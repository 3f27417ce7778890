#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/flags.hpp"
#include "base/infinity.hpp"
#include "base/time.hpp"

namespace gpusched {

/// A list of numbers: a type of its own, since libstdc++ takes a variant of nothing but numbers,
/// strings and vectors for one that always holds a value. Where the copy of such a one throws, what
/// was never made is destroyed.
struct NumberList : std::vector<double> {
  using std::vector<double>::vector;
};

using ParameterValue = std::variant<bool, std::int64_t, double, std::string, NumberList>;

/// One option of a plug-in: its default (which fixes the type), its range, what it means.
struct ParameterInfo {
  std::string name;
  ParameterValue fallback;
  std::string help;
  double minimum = -kInfinity;
  double maximum = kInfinity;
  /// If 0 has a special meaning: the lowest allowed value above 0; otherwise 0.
  double least_positive = 0;
  /// For texts: the values allowed; empty for any.
  std::vector<std::string> choices = {};
  /// For a bool: the flags that the plug-in has in addition if it is true.
  Flags flags = {};
};

/// The values that a user set. Reading an undeclared name is a programming error.
class Parameters {
 public:
  using Values = std::map<std::string, ParameterValue, std::less<>>;

  Parameters() = default;
  /// Checks names, types and ranges against the declarations; `owner` names the plug-in in errors.
  Parameters(std::string_view owner, const std::vector<ParameterInfo>& declared,
             const Values& given);

  [[nodiscard]] bool is_set(std::string_view name) const { return given_.contains(name); }
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const std::vector<double>& list(std::string_view name) const;
  /// A number of seconds as ticks, rounded half to even.
  [[nodiscard]] Time seconds(std::string_view name) const;

  /// Gives a value to a parameter that the user left alone: how a preset speaks.
  void preset(std::string_view name, ParameterValue value);

 private:
  template <class Value>
  const Value& get(std::string_view name) const;

  Values given_;
  Values defaults_;
};

/// Seconds as ticks, rounded half to even; throws InvalidInput where that overflows.
[[nodiscard]] Time ticks_of_seconds(double seconds, std::string_view what);

/// A parameter times a count of at least 1, rounded down, exact in decimal: 0.29 x 100 is 29,
/// although the double nearest to 0.29 is lower. The product is a whole number if the parameter is
/// the double nearest to that number over the count.
[[nodiscard]] inline std::int64_t floor_times(double factor, std::int64_t count) noexcept {
  const auto divisor = static_cast<double>(count);
  const double nearest = std::nearbyint(factor * divisor);
  return static_cast<std::int64_t>(nearest) - (factor < nearest / divisor ? 1 : 0);
}

/// The same, rounded up.
[[nodiscard]] inline std::int64_t ceil_times(double factor, std::int64_t count) noexcept {
  return -floor_times(-factor, count);
}

}  // namespace gpusched
