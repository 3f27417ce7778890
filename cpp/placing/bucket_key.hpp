#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.hpp"
#include "seams/occupancy.hpp"

namespace gpusched {

/// What the servers of one bucket have in common: type, size, free part of each partly used GPU,
/// and
enum class Likeness {
  counts,  ///< how many GPUs are wholly free,
  masks,   ///< or which,
  hosted,  ///< or how many, and the shapes of the jobs there.
};

using BucketKey = std::vector<std::int32_t>;

/// Written over what `out` had.
void describe(const Occupancy& free, ServerId server, Likeness likeness, BucketKey& out);

}  // namespace gpusched
