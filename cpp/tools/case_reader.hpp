#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "case_seal.hpp"
#include "model/cluster.hpp"
#include "model/job_table.hpp"
#include "runs/run_description.hpp"

namespace gpusched {

template <class Value>
using OwnedColumn = std::vector<Value>;

/// The content of a file written by Result.save_case (python/gpusched/specs/case.py). Its tables
/// borrow its columns.
struct Case {
  /// Throws InvalidInput if the file cannot be read or is not a complete case.
  explicit Case(const std::filesystem::path& path);
  explicit Case(UnsealedCase file);
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  [[nodiscard]] JobTable make_jobs() const;
  [[nodiscard]] Cluster make_cluster() const;

  RunDescription description;
  PerColumn<OwnedColumn> columns;
  std::vector<std::int32_t> server_gpus;
  std::vector<std::int32_t> server_type;
  std::vector<double> nic_bytes_per_s;
  std::vector<double> intra_bytes_per_s;
  std::vector<std::int32_t> server_domain;
  std::vector<std::int32_t> domain_parent;
  std::vector<double> uplink_bytes_per_s;
  std::vector<std::int64_t> cpu_milli;
  std::vector<std::int64_t> memory_mib;
  std::vector<std::int32_t> part_of;
};

}  // namespace gpusched
