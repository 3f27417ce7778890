#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// What servers have alike that stand on one bucket: their type, their size, what is left of each
/// partly used GPU, and
enum class Likeness {
  counts,  ///< how many GPUs are wholly free,
  masks,   ///< or which,
  hosted,  ///< or how many, and the shapes of the gangs there.
};

using BucketKey = std::vector<std::int32_t>;

/// Written over what `out` had.
void describe(const Occupancy& free, ServerId server, Likeness likeness, BucketKey& out);

}  // namespace gpusched
