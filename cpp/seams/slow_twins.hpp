#pragma once

#include <atomic>

namespace gpusched {

/// Whether runs that begin from now on take the slow twin, which is easier to read, wherever a
/// scheduler has one. Tests alone set it, to compare a schedule with that of the fast path.
inline std::atomic<bool> takes_slow_twins{false};

}  // namespace gpusched
