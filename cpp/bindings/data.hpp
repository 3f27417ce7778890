#pragma once

#include <optional>
#include <vector>

#include "columns.hpp"
#include "gpusched/job_table.hpp"

namespace gpusched::bindings {

/// The arrays of a trace, kept alive for the table that borrows them.
struct TraceColumns {
  Column<std::int64_t> submit_us;
  Column<std::int64_t> service_us;
  Column<std::int32_t> gpus;
  std::optional<Column<std::int64_t>> predicted_us;
  std::optional<Column<std::int64_t>> estimate_us;
  std::optional<Column<std::int64_t>> checkpoint_us;
  std::optional<Column<std::int64_t>> restart_us;
  std::optional<Column<double>> weight;
  std::optional<Column<std::int32_t>> type_set;
  std::vector<TypeMask> type_masks;

  [[nodiscard]] JobColumns borrow() const {
    return {.submit_us = view(submit_us, "submit_us"),
            .service_us = view(service_us, "service_us"),
            .gpus = view(gpus, "gpus"),
            .predicted_us = view(predicted_us, "predicted_us"),
            .estimate_us = view(estimate_us, "estimate_us"),
            .checkpoint_us = view(checkpoint_us, "checkpoint_us"),
            .restart_us = view(restart_us, "restart_us"),
            .weight = view(weight, "weight"),
            .type_set = view(type_set, "type_set"),
            .type_masks = type_masks};
  }
};

/// A job table and the arrays it borrows.
struct OwnedJobTable {
  explicit OwnedJobTable(TraceColumns given) : columns(std::move(given)), table(columns.borrow()) {}

  TraceColumns columns;
  JobTable table;
};

}  // namespace gpusched::bindings
