#pragma once

namespace gpusched {

/// The greatest magnitude of a cost or a value: sums of these are numbers.
inline constexpr double kMostCost = 1e300;

/// Duals, or prices, above this multiple of the costs would hide differences between them.
inline constexpr double kCoarse = 65536.0;

}  // namespace gpusched
