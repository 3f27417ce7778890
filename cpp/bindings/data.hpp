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
  std::optional<Column<std::int32_t>> profile;
  std::optional<Column<double>> gradient_bytes;
  std::optional<Column<double>> compute_s;
  std::optional<Column<std::int32_t>> graph;
  std::optional<Column<std::int32_t>> graph_begin;
  std::optional<Column<std::int32_t>> replicas;
  std::optional<Column<double>> stage_compute_s;
  std::optional<Column<double>> activation_bytes;
  std::optional<Column<double>> parameter_bytes;

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
            .type_masks = type_masks,
            .profile = view(profile, "profile"),
            .gradient_bytes = view(gradient_bytes, "gradient_bytes"),
            .compute_s = view(compute_s, "compute_s"),
            .graph = view(graph, "graph"),
            .graph_begin = view(graph_begin, "graph_begin"),
            .replicas = view(replicas, "replicas"),
            .stage_compute_s = view(stage_compute_s, "stage_compute_s"),
            .activation_bytes = view(activation_bytes, "activation_bytes"),
            .parameter_bytes = view(parameter_bytes, "parameter_bytes")};
  }
};

/// A job table and the arrays it borrows.
struct OwnedJobTable {
  explicit OwnedJobTable(TraceColumns given) : columns(std::move(given)), table(columns.borrow()) {}

  TraceColumns columns;
  JobTable table;
};

}  // namespace gpusched::bindings
