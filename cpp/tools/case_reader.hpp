#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/parameters.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"

namespace gpusched {

/// What a flat file that Result.save_case writes says of a run (python/gpusched/specs/case.py). The
/// tables that it makes borrow its columns.
struct Case {
  /// Throws InvalidInput if the file cannot be read or is no whole case.
  explicit Case(const std::filesystem::path& path);
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] JobTable make_jobs() const;
  [[nodiscard]] Cluster make_cluster() const;

  std::uint64_t seed{};
  std::string policy;
  Parameters::Values policy_values;
  std::string placement_name;
  Parameters::Values placement_values;
  std::string speed_name;
  Parameters::Values speed_values;
  std::string contention_name;
  Parameters::Values contention_values;
  std::vector<std::int64_t> submit_us;
  std::vector<std::int64_t> service_us;
  std::vector<std::int32_t> gpus;
  std::vector<std::int64_t> predicted_us;
  std::vector<std::int64_t> estimate_us;
  std::vector<std::int64_t> checkpoint_us;
  std::vector<std::int64_t> restart_us;
  std::vector<double> weight;
  std::vector<std::int32_t> type_set;
  std::vector<std::uint64_t> type_masks;
  std::vector<std::int32_t> profile;
  std::vector<double> gradient_bytes;
  std::vector<double> compute_s;
  std::vector<std::int32_t> graph;
  std::vector<std::int32_t> graph_begin;
  std::vector<std::int32_t> replicas;
  std::vector<double> stage_compute_s;
  std::vector<double> activation_bytes;
  std::vector<double> parameter_bytes;
  std::vector<std::int64_t> deadline_us;
  std::vector<double> value;
  std::vector<std::int32_t> min_gpus;
  std::vector<std::int32_t> max_gpus;
  std::vector<std::int32_t> demand;
  std::vector<Demand> demands;
  std::vector<std::int32_t> table_counts;
  std::vector<double> throughput;
  std::vector<double> spread_throughput;
  std::vector<double> samples_per_s;
  std::vector<std::int64_t> max_samples;
  std::vector<std::int64_t> global_batch;
  std::vector<std::int32_t> server_gpus;
  std::vector<std::int32_t> server_type;
  std::vector<double> nic_bytes_per_s;
  std::vector<double> intra_bytes_per_s;
  std::vector<std::int32_t> server_domain;
  std::vector<std::int32_t> domain_parent;
  std::vector<double> uplink_bytes_per_s;
  std::vector<std::int64_t> cpu_milli;
  std::vector<std::int64_t> memory_mib;
};

}  // namespace gpusched
