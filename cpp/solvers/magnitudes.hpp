#pragma once

namespace gpusched {

/// The greatest magnitude of a cost or a value: sums of these are numbers.
inline constexpr double kMostCost = 1e300;

/// Duals, or prices, that have seen so many times the costs there are would hide differences
/// between them.
inline constexpr double kCoarse = 65536.0;

}  // namespace gpusched
