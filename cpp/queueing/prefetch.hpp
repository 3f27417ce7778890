#pragma once

#include "seams/state.hpp"

namespace gpusched {

/// Fetches what the start of a job reads, which has left the caches if it has waited for long.
inline void prefetch(const State& state, JobId job) noexcept {
  __builtin_prefetch(&state.record(job));
  __builtin_prefetch(&state.jobs().columns().gpus[job]);
  __builtin_prefetch(&state.jobs().columns().service_us[job]);
}

}  // namespace gpusched
