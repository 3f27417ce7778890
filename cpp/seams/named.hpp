#pragma once

#include <memory>
#include <string_view>

#include "base/clone.hpp"
#include "base/parameters.hpp"
#include "seams/contention.hpp"
#include "seams/placement.hpp"
#include "seams/speed.hpp"

namespace gpusched {

/// Each throws InvalidInput for an unknown name or parameter.
[[nodiscard]] Owned<Placement> make_placement(std::string_view name,
                                              const Parameters::Values& values);
[[nodiscard]] Owned<Speed> make_speed(std::string_view name, const Parameters::Values& values);
[[nodiscard]] Owned<Contention> make_contention(std::string_view name,
                                                const Parameters::Values& values);

}  // namespace gpusched
