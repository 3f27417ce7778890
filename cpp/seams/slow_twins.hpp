#pragma once

#include <atomic>

namespace gpusched {

/// Whether new runs use the slow, simpler reference implementation of schedulers that have one.
/// Only tests set it, to compare schedules with the fast path.
inline std::atomic<bool> takes_slow_twins{false};

}  // namespace gpusched
