#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "columns.hpp"
#include "model/job_table.hpp"

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
  std::optional<Column<std::int64_t>> deadline_us;
  std::optional<Column<double>> value;
  std::optional<Column<std::int32_t>> min_gpus;
  std::optional<Column<std::int32_t>> max_gpus;
  std::optional<Column<std::int32_t>> demand;
  std::optional<Column<std::int32_t>> demand_share_milli;
  std::optional<Column<std::int64_t>> demand_cpu_milli;
  std::optional<Column<std::int64_t>> demand_memory_mib;
  std::optional<Column<std::int32_t>> type_set;
  std::vector<TypeMask> type_masks;
  std::optional<Column<std::int32_t>> profile;
  std::optional<Column<double>> gradient_bytes;
  std::optional<Column<double>> compute_s;
  std::optional<Column<std::int32_t>> table_counts;
  std::optional<Column<double>> throughput;
  std::optional<Column<double>> spread_throughput;
  std::optional<Column<double>> samples_per_s;
  std::optional<Column<std::int64_t>> max_samples;
  std::optional<Column<std::int64_t>> global_batch;
  std::optional<Column<std::int32_t>> graph;
  std::optional<Column<std::int32_t>> graph_begin;
  std::optional<Column<std::int32_t>> replicas;
  std::optional<Column<double>> stage_compute_s;
  std::optional<Column<double>> activation_bytes;
  std::optional<Column<double>> parameter_bytes;

  [[nodiscard]] std::vector<Demand> demands() const {
    const auto share = view(demand_share_milli, "demand_share_milli");
    const auto cpu = view(demand_cpu_milli, "demand_cpu_milli");
    const auto memory = view(demand_memory_mib, "demand_memory_mib");
    if (cpu.size() != share.size() || memory.size() != share.size()) {
      fail_input("demand_share_milli, demand_cpu_milli, demand_memory_mib: lengths " +
                 std::to_string(share.size()) + ", " + std::to_string(cpu.size()) + ", " +
                 std::to_string(memory.size()) + "; they must be equal");
    }
    std::vector<Demand> rows;
    rows.reserve(share.size());
    for (std::size_t row = 0; row < share.size(); ++row) {
      rows.push_back({share[row], cpu[row], memory[row]});
    }
    return rows;
  }

  [[nodiscard]] JobColumns borrow() const {
    return {.submit_us = view(submit_us, "submit_us"),
            .service_us = view(service_us, "service_us"),
            .gpus = view(gpus, "gpus"),
            .predicted_us = view(predicted_us, "predicted_us"),
            .estimate_us = view(estimate_us, "estimate_us"),
            .checkpoint_us = view(checkpoint_us, "checkpoint_us"),
            .restart_us = view(restart_us, "restart_us"),
            .weight = view(weight, "weight"),
            .deadline_us = view(deadline_us, "deadline_us"),
            .value = view(value, "value"),
            .min_gpus = view(min_gpus, "min_gpus"),
            .max_gpus = view(max_gpus, "max_gpus"),
            .demand = view(demand, "demand"),
            .demands = demands(),
            .type_set = view(type_set, "type_set"),
            .type_masks = type_masks,
            .profile = view(profile, "profile"),
            .gradient_bytes = view(gradient_bytes, "gradient_bytes"),
            .compute_s = view(compute_s, "compute_s"),
            .table_counts = view(table_counts, "table_counts"),
            .throughput = view(throughput, "throughput"),
            .spread_throughput = view(spread_throughput, "spread_throughput"),
            .samples_per_s = view(samples_per_s, "samples_per_s"),
            .max_samples = view(max_samples, "max_samples"),
            .global_batch = view(global_batch, "global_batch"),
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
