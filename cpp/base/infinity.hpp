#pragma once

#include <limits>

namespace gpusched {

/// A time that never comes, a cost that nothing has, a limit that none reaches.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace gpusched
