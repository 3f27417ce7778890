#include "seams/named.hpp"

#include <memory>
#include <string>
#include <type_traits>

#include "base/check.hpp"
#include "base/clone.hpp"
#include "base/registry.hpp"

namespace gpusched {
namespace {

/// A plug-in of an interface in which a name means one file and its own parameters.
template <class Seam>
Owned<Seam> make_plugin(const char* kind, std::string_view name, const Parameters::Values& values) {
  if (const AliasInfo* alias = Registry<Seam>::find_alias(name)) {
    return make_plugin<Seam>(kind, alias->target, alias->with_defaults(values));
  }
  const auto* entry = Registry<Seam>::find(name);
  if (entry == nullptr)
    fail_input(std::string(kind) + ": unknown name '" + std::string(name) + "'");
  const std::string owner = std::string(kind) + " " + std::string(name);
  Owned<Seam> made = entry->make(entry->info.read(owner, values));
  if constexpr (std::is_same_v<Seam, Speed>) made->describe(entry->info);
  return made;
}

}  // namespace

Owned<Placement> make_placement(std::string_view name, const Parameters::Values& values) {
  return make_plugin<Placement>("placement", name, values);
}

Owned<Speed> make_speed(std::string_view name, const Parameters::Values& values) {
  return make_plugin<Speed>("speed", name, values);
}

Owned<Contention> make_contention(std::string_view name, const Parameters::Values& values) {
  return make_plugin<Contention>("contention", name, values);
}

}  // namespace gpusched
