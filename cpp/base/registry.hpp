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
#include "base/parameters.hpp"

namespace gpusched {

/// What a user is told of a plug-in, and what the contract tests check it by.
struct PluginInfo {
  std::string name;
  std::string summary;
  std::string source;
  /// Of: preemptive, strict, skip, clairvoyant, estimate, random, pooled, elastic, deadlines.
  std::vector<std::string> flags = {};
  std::vector<ParameterInfo> parameters = {};
  /// What a speed reads of the jobs: it cannot do without these, and looks at the others if given.
  std::vector<std::string_view> columns = {};
  std::vector<std::string_view> optional_columns = {};
  /// Lets one parameter set the defaults of others (a preset).
  void (*adjust)(Parameters&) = nullptr;

  [[nodiscard]] bool has(std::string_view flag) const {
    for (const auto& own : flags) {
      if (own == flag) return true;
    }
    return false;
  }
};

/// The plug-ins of one seam by name. A plug-in is one file that ends in GPUSCHED_REGISTER.
template <class Seam>
class Registry {
 public:
  using Factory = std::function<std::unique_ptr<Seam>(const Parameters&)>;
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
    Factory make = [](const Parameters& parameters) -> std::unique_ptr<Seam> {
      if constexpr (std::is_constructible_v<Plugin, const Parameters&>) {
        return std::make_unique<Plugin>(parameters);
      } else {
        return std::make_unique<Plugin>();
      }
    };
    std::string name = info.name;
    if (!entries().emplace(name, Entry{std::move(info), std::move(make)}).second) {
      throw InvariantError("plug-in '" + name + "' is registered twice");
    }
    return true;
  }

  static const Entry* find(std::string_view name) {
    const auto found = entries().find(name);
    return found == entries().end() ? nullptr : &found->second;
  }
};

#define GPUSCHED_JOIN_(a, b) a##b
#define GPUSCHED_JOIN(a, b) GPUSCHED_JOIN_(a, b)

/// GPUSCHED_REGISTER(Order, Fifo, .name = "fifo", .summary = "...", .source = "...");
#define GPUSCHED_REGISTER(Seam, Plugin, ...)                                      \
  namespace {                                                                     \
  [[maybe_unused]] const bool GPUSCHED_JOIN(is_registered_, __LINE__) =           \
      ::gpusched::Registry<Seam>::add<Plugin>(::gpusched::PluginInfo{__VA_ARGS__}); \
  }

}  // namespace gpusched
