#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "base/flags.hpp"
#include "base/parameters.hpp"

namespace gpusched {

/// The public description of a plug-in; the contract tests check it.
struct PluginInfo {
  std::string name;
  std::string summary;
  std::string source;
  /// Where its source is followed in outline: what is done in another way, in a sentence. Gives it
  /// the flag `approximate`.
  std::string differs = {};
  Flags flags = {};
  PreemptionBound preemption = {};
  std::vector<ParameterInfo> parameters = {};
  /// Job columns that a speed requires; the optional ones below are used if given.
  std::vector<std::string_view> columns = {};
  std::vector<std::string_view> optional_columns = {};
  /// Lets one parameter set the defaults of others (a preset).
  void (*adjust)(Parameters&) = nullptr;

  [[nodiscard]] bool has(Flag flag) const noexcept { return flags.has(flag); }

  /// Checks the user's values and adds the defaults that its presets set; `owner` names the plug-in
  /// in errors.
  [[nodiscard]] Parameters read(std::string_view owner, const Parameters::Values& given) const {
    return read(owner, given, parameters);
  }
  /// The same where more are declared than its own.
  [[nodiscard]] Parameters read(std::string_view owner, const Parameters::Values& given,
                                const std::vector<ParameterInfo>& declared) const {
    Parameters found(owner, declared, given);
    if (adjust != nullptr) adjust(found);
    return found;
  }
};

/// A name that is another one with other defaults.
struct AliasInfo {
  std::string name;
  std::string summary;
  std::string source;
  /// The name of a plug-in, none of an alias.
  std::string target;
  Parameters::Values values;

  /// The user's values, then those that the alias sets.
  [[nodiscard]] Parameters::Values with_defaults(Parameters::Values given) const {
    given.insert(values.begin(), values.end());
    return given;
  }
  /// The description of the alias, given that of its target with all parameters.
  [[nodiscard]] PluginInfo described(PluginInfo of_target) const;
};

/// The plug-ins of one interface, by name. A plug-in is one file that ends in GPUSCHED_REGISTER.
template <class Seam>
class Registry {
 public:
  using Factory = std::function<Owned<Seam>(const Parameters&)>;
  struct Entry {
    PluginInfo info;
    Factory make;
  };

  static std::map<std::string, Entry, std::less<>>& entries() {
    static std::map<std::string, Entry, std::less<>> all;
    return all;
  }

  template <class Plugin>
  static bool add(PluginInfo info) {
    if (!info.differs.empty()) info.flags = info.flags.with(Flag::approximate);
    Factory make = [flags = info.flags](const Parameters& parameters) {
      Owned<Seam> made;
      if constexpr (std::is_constructible_v<Plugin, const Parameters&>) {
        made = std::make_unique<Plugin>(parameters);
      } else {
        made = std::make_unique<Plugin>();
      }
      made->declare(flags);
      return made;
    };
    std::string name = info.name;
    if (!entries().emplace(name, Entry{std::move(info), std::move(make)}).second) {
      throw InvariantError("plug-in '" + name + "' is registered twice");
    }
    return true;
  }

  static std::map<std::string, AliasInfo, std::less<>>& aliases() {
    static std::map<std::string, AliasInfo, std::less<>> all;
    return all;
  }

  static bool add_alias(AliasInfo info) {
    std::string name = info.name;
    if (!aliases().emplace(name, std::move(info)).second) {
      throw InvariantError("alias '" + name + "' is registered twice");
    }
    return true;
  }

  static const Entry* find(std::string_view name) {
    const auto found = entries().find(name);
    return found == entries().end() ? nullptr : &found->second;
  }

  static const AliasInfo* find_alias(std::string_view name) {
    const auto found = aliases().find(name);
    return found == aliases().end() ? nullptr : &found->second;
  }
};

#define GPUSCHED_JOIN_(a, b) a##b
#define GPUSCHED_JOIN(a, b) GPUSCHED_JOIN_(a, b)

/// GPUSCHED_REGISTER(Order, Fifo, .name = "fifo", .summary = "...", .source = "...");
#define GPUSCHED_REGISTER(Seam, Plugin, ...)                                        \
  namespace {                                                                       \
  [[maybe_unused]] const bool GPUSCHED_JOIN(is_registered_, __COUNTER__) =          \
      ::gpusched::Registry<Seam>::add<Plugin>(::gpusched::PluginInfo{__VA_ARGS__}); \
  }

/// GPUSCHED_ALIAS(Order, .name = "...", .summary = "...", .source = "...", .target = "...",
///                .values = {{"parameter", value}});
#define GPUSCHED_ALIAS(Seam, ...)                                                \
  namespace {                                                                    \
  [[maybe_unused]] const bool GPUSCHED_JOIN(is_alias_, __COUNTER__) =            \
      ::gpusched::Registry<Seam>::add_alias(::gpusched::AliasInfo{__VA_ARGS__}); \
  }

}  // namespace gpusched
