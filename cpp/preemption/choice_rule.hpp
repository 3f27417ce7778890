#pragma once

#include <cstdint>

namespace gpusched {

/// On which jobs a budget of GPUs is spent, in the order of keys.
enum class ChoiceRule : std::uint8_t {
  skip,            ///< each that fits the rest of the budget
  strict,          ///< those before the first that does not
  filling,         ///< of the shortest prefix that could fill the budget, widest first, as skip
  strict_filling,  ///< and that, widest first, as strict
};

}  // namespace gpusched
