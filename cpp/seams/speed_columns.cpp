#include "seams/speed_columns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/check.hpp"
#include "base/registry.hpp"
#include "model/job_columns.hpp"

namespace gpusched {
namespace {

/// Checks the job columns that a speed reads.
class Reading {
 public:
  Reading(const PluginInfo& speed, const JobTable& jobs, const Cluster& cluster)
      : speed_(speed), jobs_(jobs), cluster_(cluster) {}

  void check() const {
    for (const auto* names : {&speed_.columns, &speed_.optional_columns}) {
      for (const std::string_view name : *names) {
        if (find_column(name) != nullptr) continue;
        throw InvariantError(start() + "unknown column " + std::string(name));
      }
    }
    for_each_column(
        [&](const ColumnInfo& info, const auto& values) {
          const bool is_needed = lists(speed_.columns, info);
          if (!is_needed && !lists(speed_.optional_columns, info)) return;
          if (is_needed && values.empty()) fail_missing(info);
          if (values.empty()) return;
          check_length(info, values.size());
          if constexpr (std::is_same_v<decltype(values.front()), const double&>) {
            if (info.range.may_be_unknown) check_known(info, values);
          }
        },
        jobs_.columns());
  }

 private:
  static bool lists(const std::vector<std::string_view>& names, const ColumnInfo& column) {
    return std::find(names.begin(), names.end(), column.name) != names.end();
  }

  [[nodiscard]] std::string start() const { return "speed " + speed_.name + ": "; }

  [[noreturn]] void fail_missing(const ColumnInfo& column) const {
    std::string all;
    for (const std::string_view name : speed_.columns) {
      if (!all.empty()) all += ", ";
      all += name;
    }
    fail_input(start() + std::string(column.name) + " is missing; every job needs " + all);
  }

  /// How many values each profile or stage has in the column; none for columns of other things.
  [[nodiscard]] std::optional<std::size_t> stride(const ColumnInfo& column) const {
    const auto num_types = static_cast<std::size_t>(cluster_.num_types());
    switch (column.per) {
      case Per::profile:
        return 1;
      case Per::profile_and_type:
        return num_types;
      case Per::profile_type_and_count:
        return num_types * jobs_.columns().table_counts.size();
      case Per::stage_and_type:
        return num_types;
      default:
        return std::nullopt;
    }
  }

  void check_length(const ColumnInfo& column, std::size_t size) const {
    const std::optional<std::size_t> each = stride(column);
    if (!each) return;
    const bool is_stage = column.per == Per::stage_and_type;
    const JobColumn index = is_stage ? JobColumn::graph : JobColumn::profile;
    if (is_stage ? !jobs_.has_graphs() : !jobs_.has_profiles()) fail_missing(info_of(index));
    const std::size_t rows = is_stage ? jobs_.columns().replicas.size() : jobs_.num_profiles();
    const std::size_t least = rows * *each;
    // Without a count of profiles, some may be unused by any job.
    const bool may_have_more = !is_stage && *each > 0 && !counts_profiles();
    if (size == least || (may_have_more && size > least && size % *each == 0)) return;
    const std::string counts =
        column.per == Per::profile_type_and_count
            ? " with " + std::to_string(jobs_.columns().table_counts.size()) + " counts"
            : "";
    fail_input(start() + std::string(column.name) + " has " + std::to_string(size) + " entries; " +
               std::to_string(rows) + (is_stage ? " stages" : " profiles") + " on " +
               std::to_string(cluster_.num_types()) + " GPU types" + counts + " need " +
               std::to_string(least));
  }

  [[nodiscard]] bool counts_profiles() const {
    bool counts = false;
    for_each_column(
        [&](const ColumnInfo& info, const auto& values) {
          counts = counts || (info.per == Per::profile && !values.empty());
        },
        jobs_.columns());
    return counts;
  }

  void check_known(const ColumnInfo& column, std::span<const double> values) const {
    const auto num_types = static_cast<std::size_t>(cluster_.num_types());
    const JobColumns& columns = jobs_.columns();
    const bool is_stage = column.per == Per::stage_and_type;
    for (JobId job = 0; job < jobs_.num_jobs(); ++job) {
      const auto at =
          static_cast<std::size_t>(is_stage ? columns.graph[job] : columns.profile[job]);
      const std::size_t begin = is_stage ? static_cast<std::size_t>(columns.graph_begin[at]) : at;
      const std::size_t end =
          is_stage ? static_cast<std::size_t>(columns.graph_begin[at + 1]) : at + 1;
      const TypeMask allowed = jobs_.types(job) & cluster_.all_types();
      for (TypeMask rest = allowed; rest != 0; rest &= rest - 1) {
        const int type = std::countr_zero(rest);
        for (std::size_t row = begin; row < end; ++row) {
          if (!std::isnan(values[row * num_types + static_cast<std::size_t>(type)])) continue;
          const std::string whose =
              is_stage ? "stage " + std::to_string(row - begin) + " of graph " : "profile ";
          fail_input(start() + whose + std::to_string(at) + " has no " + std::string(column.name) +
                     " for GPU type " + std::to_string(type) + ", which job " +
                     std::to_string(job) + " may use");
        }
      }
    }
  }

  const PluginInfo& speed_;
  const JobTable& jobs_;
  const Cluster& cluster_;
};

}  // namespace

void require_columns(const PluginInfo& speed, const JobTable& jobs, const Cluster& cluster) {
  Reading(speed, jobs, cluster).check();
}

}  // namespace gpusched
