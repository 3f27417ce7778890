#pragma once

#include <cstdint>

#include "columns.hpp"
#include "engine/snapshot.hpp"

namespace gpusched::bindings {

/// The columns of a Snapshot.
struct OwnedSnapshot {
  std::int64_t now_us;
  std::int64_t first_us;
  bool is_anew;
  Column<std::int64_t> attained_us;
  Column<std::int64_t> start_us;
  Column<std::int64_t> cost_us;
  Column<std::int32_t> preemptions;
  Column<std::int64_t> added_us;
  Column<std::int64_t> held_job;
  Column<std::int64_t> held_server;
  Column<GpuMask> held_mask;

  /// Borrows them.
  [[nodiscard]] Snapshot borrowed() const {
    return {.now = Time{now_us},
            .first = Time{first_us},
            .is_anew = is_anew,
            .attained_us = view(attained_us, "attained_us"),
            .start_us = view(start_us, "start_us"),
            .cost_us = view(cost_us, "cost_us"),
            .preemptions = view(preemptions, "preemptions"),
            .added_us = view(added_us, "added_us"),
            .held_job = view(held_job, "held_job"),
            .held_server = view(held_server, "held_server"),
            .held_mask = view(held_mask, "held_mask")};
  }
};

}  // namespace gpusched::bindings
