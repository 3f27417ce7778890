#include "base/registry.hpp"

#include <algorithm>
#include <utility>

namespace gpusched {

PluginInfo AliasInfo::described(PluginInfo of_target) const {
  PluginInfo info = std::move(of_target);
  info.name = name;
  info.summary = summary;
  info.source = source;
  for (const auto& [parameter, value] : values) {
    const auto own = std::ranges::find(info.parameters, parameter, &ParameterInfo::name);
    if (own == info.parameters.end()) {
      throw InvariantError("alias '" + name + "': no parameter '" + parameter + "'");
    }
    own->fallback = value;
    if (parameter != "scan") continue;
    info.flags = info.flags.without(Flag::strict).without(Flag::skip);
    info.flags = info.flags.with(flag_of(std::get<std::string>(value)));
  }
  return info;
}

}  // namespace gpusched
