#include "base/parameters.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <utility>

#include "base/check.hpp"

namespace gpusched {
namespace {

std::string show(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

/// Converts where nothing is lost: an integer serves as a number, a number as a list of one.
ParameterValue coerce(const std::string& where, const ParameterValue& value,
                      const ParameterValue& like) {
  if (value.index() == like.index()) return value;
  if (std::holds_alternative<double>(like) && std::holds_alternative<std::int64_t>(value)) {
    return static_cast<double>(std::get<std::int64_t>(value));
  }
  if (std::holds_alternative<NumberList>(like)) {
    if (const auto* one = std::get_if<double>(&value)) return NumberList{*one};
    if (const auto* one = std::get_if<std::int64_t>(&value)) {
      return NumberList{static_cast<double>(*one)};
    }
  }
  static constexpr const char* kKinds[] = {"true or false", "an integer", "a number", "a text",
                                           "a list of numbers"};
  fail_input(where + " must be " + kKinds[like.index()]);
}

void check(const std::string& where, const ParameterInfo& info, const ParameterValue& value) {
  const auto in_range = [&](double number) {
    const bool is_too_small = number > 0 && number < info.least_positive;
    if (std::isfinite(number) && number >= info.minimum && number <= info.maximum &&
        !is_too_small) {
      return;
    }
    const std::string least =
        info.least_positive > 0 ? "0 and " + show(info.least_positive) : show(info.minimum);
    fail_input(where + " is " + show(number) + "; allowed: " + least + " to " + show(info.maximum));
  };
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    in_range(static_cast<double>(*whole));
  } else if (const auto* number = std::get_if<double>(&value)) {
    in_range(*number);
  } else if (const auto* list = std::get_if<NumberList>(&value)) {
    std::for_each(list->begin(), list->end(), in_range);
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (!info.choices.empty() && std::ranges::find(info.choices, *text) == info.choices.end()) {
      std::string message = where + " is '" + *text + "'; allowed:";
      for (const auto& choice : info.choices) message += " " + choice;
      fail_input(message);
    }
  }
}

}  // namespace

Parameters::Parameters(std::string_view owner, const std::vector<ParameterInfo>& declared,
                       const Values& given) {
  for (const auto& info : declared) defaults_[info.name] = info.fallback;
  for (const auto& [name, value] : given) {
    const auto info = std::ranges::find(declared, name, &ParameterInfo::name);
    if (info == declared.end()) {
      std::string message = std::string(owner) + ": unknown parameter '" + name + "'; it has";
      if (declared.empty()) message += " none";
      for (const auto& known : declared) message += " " + known.name;
      fail_input(message);
    }
    const std::string where = std::string(owner) + ": parameter " + name;
    ParameterValue checked = coerce(where, value, info->fallback);
    check(where, *info, checked);
    given_[name] = std::move(checked);
  }
}

template <class Value>
const Value& Parameters::get(std::string_view name) const {
  if (const auto found = given_.find(name); found != given_.end()) {
    return std::get<Value>(found->second);
  }
  const auto found = defaults_.find(name);
  if (found == defaults_.end()) {
    throw InvariantError("parameter '" + std::string(name) + "' was not declared");
  }
  return std::get<Value>(found->second);
}

bool Parameters::flag(std::string_view name) const { return get<bool>(name); }
std::int64_t Parameters::integer(std::string_view name) const { return get<std::int64_t>(name); }
double Parameters::number(std::string_view name) const { return get<double>(name); }
const std::string& Parameters::text(std::string_view name) const { return get<std::string>(name); }
const std::vector<double>& Parameters::list(std::string_view name) const {
  return get<NumberList>(name);
}
Time Parameters::seconds(std::string_view name) const {
  return ticks_of_seconds(number(name), name);
}

void Parameters::preset(std::string_view name, ParameterValue value) {
  defaults_[std::string(name)] = std::move(value);
}

Time ticks_of_seconds(double seconds, std::string_view what) {
  const double ticks = std::nearbyint(seconds * 1e6);
  if (!(std::abs(ticks) <= static_cast<double>(kMaxServiceTicks))) {
    fail_input(std::string(what) + ": " + show(seconds) + " s is more than 2^53 microseconds");
  }
  return Time{static_cast<std::int64_t>(ticks)};
}

}  // namespace gpusched
