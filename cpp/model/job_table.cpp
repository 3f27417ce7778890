#include "model/job_table.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>

#include "base/check.hpp"

namespace gpusched {
namespace {

/// Fails with the rule of the column's range, or with another one.
[[noreturn]] void fail_at(JobColumn column, std::size_t row, const std::string& value,
                          const std::string& rule = {}) {
  const ColumnInfo& info = info_of(column);
  fail_input(std::string(info.name) + ": row " + std::to_string(row) + " is " + value + "; " +
             (rule.empty() ? info.range.rule : rule));
}

[[noreturn]] void fail_length(const ColumnInfo& column, std::size_t length,
                              const std::string& rule) {
  fail_input(std::string(column.name) + ": length " + std::to_string(length) + rule);
}

template <class Value>
bool lies_in(const ValueRange& range, Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    if (std::isnan(value)) return range.may_be_unknown;
    const auto least = static_cast<double>(range.least);
    return std::isfinite(value) && (range.excludes_least ? value > least : value >= least);
  } else if constexpr (std::is_signed_v<Value>) {
    return value >= range.least && value <= range.most;
  } else {
    return true;
  }
}

/// Columns that are required together, because others refer to them; figures for speeds are not.
bool is_needed_with_its_peers(Per per) { return per == Per::demand || per == Per::stage; }

/// Columns with as many values as others of their kind, if they have any.
bool has_peers(Per per) { return per == Per::job || per == Per::profile || per == Per::dependency; }

/// The first column that has a value for each of these and is not empty; its name and length.
std::pair<std::string_view, std::size_t> first_of(Per per, const JobColumns& columns) {
  std::pair<std::string_view, std::size_t> first;
  for_each_column(
      [&](const ColumnInfo& info, const auto& values) {
        if (info.per == per && first.second == 0) first = {info.name, values.size()};
      },
      columns);
  return first;
}

/// Values per row of a matrix with this many rows.
std::size_t stride_of(JobColumn column, std::size_t size, std::size_t num_rows, const char* rows) {
  const std::size_t stride = num_rows == 0 ? 0 : size / num_rows;
  if (stride == 0 || size % num_rows != 0) {
    fail_length(info_of(column), size,
                " is not one value for each of " + std::to_string(num_rows) + " " + rows +
                    " and each GPU type");
  }
  return stride;
}

}  // namespace

JobTable::JobTable(const JobColumns& columns) : columns_(columns) {
  const std::size_t num_jobs = columns_.submit_us.size();
  if (num_jobs == 0) fail_input("submit_us: a trace needs at least one job");
  if (num_jobs >= kNoJob) fail_input("submit_us: at most 4294967294 jobs");
  check_lengths();
  check_ranges();
  check_times();
  check_deadlines();
  check_widths();
  read_demands();
  check_gpus_per_node();
  check_limits();
  check_conditions();
  check_profiles();
  check_indices();
  check_graphs();
}

void JobTable::check_lengths() const {
  for_each_column(
      [&](const ColumnInfo& info, const auto& values) {
        if (!has_peers(info.per) && !is_needed_with_its_peers(info.per)) return;
        const bool may_lack = !info.is_required() && !is_needed_with_its_peers(info.per);
        if (may_lack && values.empty()) return;
        const auto [first, length] = first_of(info.per, columns_);
        if (values.size() == length) return;
        fail_length(info, values.size(),
                    " differs from " + std::string(first) + ": " + std::to_string(length));
      },
      columns_);
}

void JobTable::check_ranges() const {
  for_each_column(
      [](const ColumnInfo& info, const auto& values) {
        for (std::size_t row = 0; row < values.size(); ++row) {
          if (lies_in(info.range, values[row])) continue;
          fail_at(info.id, row, std::to_string(values[row]));
        }
      },
      columns_);
}

void JobTable::check_times() const {
  const auto& submit = columns_.submit_us;
  std::int64_t total = 0;
  for (std::size_t row = 0; row < submit.size(); ++row) {
    if (row > 0 && submit[row] < submit[row - 1]) {
      fail_at(JobColumn::submit_us, row, std::to_string(submit[row]), "the column must be sorted");
    }
    // Reservations may queue up estimates as runs queue up services.
    const auto job = static_cast<JobId>(row);
    const std::int64_t ticks = std::max(service(job), estimate(job)).count();
    total += ticks;
    if (total >= kMaxTicks || submit[row] >= kMaxTicks - total) {
      fail_at(longest_column(job), row, std::to_string(ticks),
              "the last submit plus all services, estimates or predictions must be below 2^62 "
              "microseconds");
    }
  }
}

JobColumn JobTable::longest_column(JobId job) const noexcept {
  if (service(job) >= estimate(job)) return JobColumn::service_us;
  return columns_.estimate_us.empty() ? JobColumn::predicted_us : JobColumn::estimate_us;
}

void JobTable::check_indices() {
  const auto check = [](JobColumn column, std::span<const std::int32_t> indices,
                        std::size_t num_entries) {
    for (std::size_t row = 0; row < indices.size(); ++row) {
      if (static_cast<std::size_t>(indices[row]) < num_entries) continue;
      fail_at(column, row, std::to_string(indices[row]));
    }
  };
  check(JobColumn::type_set, columns_.type_set, columns_.type_masks.size());
  check(JobColumn::profile, columns_.profile, num_profiles_);
}

void JobTable::check_deadlines() const {
  for (std::size_t row = 0; row < columns_.deadline_us.size(); ++row) {
    const std::int64_t deadline = columns_.deadline_us[row];
    if (deadline == kNoDeadline || deadline > columns_.submit_us[row]) continue;
    fail_at(JobColumn::deadline_us, row, std::to_string(deadline));
  }
}

void JobTable::check_widths() const {
  for (std::size_t row = 0; row < columns_.min_gpus.size(); ++row) {
    if (columns_.min_gpus[row] <= columns_.gpus[row]) continue;
    fail_at(JobColumn::min_gpus, row, std::to_string(columns_.min_gpus[row]));
  }
  for (std::size_t row = 0; row < columns_.max_gpus.size(); ++row) {
    if (columns_.max_gpus[row] >= columns_.gpus[row]) continue;
    fail_at(JobColumn::max_gpus, row, std::to_string(columns_.max_gpus[row]));
  }
}

void JobTable::read_demands() {
  for (std::size_t row = 0; row < columns_.demand_share_milli.size(); ++row) {
    demands_.push_back({columns_.demand_share_milli[row], columns_.demand_cpu_milli[row],
                        columns_.demand_memory_mib[row]});
  }
  for (std::size_t row = 0; row < columns_.gpus.size(); ++row) {
    // A task without GPUs asks for other things.
    if (columns_.gpus[row] < 1 && columns_.demand.empty()) {
      fail_at(JobColumn::gpus, row, std::to_string(columns_.gpus[row]));
    }
  }
  for (std::size_t row = 0; row < columns_.demand.size(); ++row) {
    const auto index = static_cast<std::size_t>(columns_.demand[row]);
    if (index >= demands_.size()) {
      fail_at(JobColumn::demand, row, std::to_string(columns_.demand[row]));
    }
    if (!demands_[index].is_share()) continue;
    has_shares_ = true;
    if (columns_.gpus[row] == 1) continue;
    fail_at(JobColumn::gpus, row, std::to_string(columns_.gpus[row]),
            "a job with a GPU share must have 1 GPU");
  }
}

void JobTable::check_limits() {
  for (std::size_t row = 0; row < columns_.time_limit_us.size(); ++row) {
    if (columns_.time_limit_us[row] != 0) continue;
    fail_at(JobColumn::time_limit_us, row, "0");
  }
  for (std::size_t row = 0; row < columns_.checkpoint_write_us.size(); ++row) {
    const std::int64_t write = columns_.checkpoint_write_us[row];
    if (write == 0) continue;
    has_writes_ = true;
    const Checkpoints own = checkpoints(static_cast<JobId>(row));
    if (own.every == Time{0}) {
      fail_at(JobColumn::checkpoint_write_us, row, std::to_string(write),
              "a job that writes checkpoints needs a positive checkpoint_every_us");
    }
    const std::int64_t writes = own.writes_in(Time{columns_.service_us[row]});
    if (writes <= kMaxServiceTicks / write) continue;
    fail_at(JobColumn::checkpoint_write_us, row, std::to_string(write),
            "all checkpoints of the job together may take 2^53 microseconds");
  }
}

void JobTable::check_conditions() const {
  const auto check_after = [this](JobColumn column, std::span<const std::int64_t> values,
                                  std::int64_t least_wait) {
    for (std::size_t row = 0; row < values.size(); ++row) {
      if (values[row] == kNoLimit || values[row] >= columns_.submit_us[row] + least_wait) continue;
      fail_at(column, row, std::to_string(values[row]));
    }
  };
  check_after(JobColumn::eligible_us, columns_.eligible_us, 0);
  check_after(JobColumn::cancel_at_us, columns_.cancel_at_us, 1);
  const auto& begin = columns_.dependency_begin;
  const auto& target = columns_.dependency_target;
  if (!begin.empty() && begin.size() != std::size_t{num_jobs()} + 1) {
    fail_length(info_of(JobColumn::dependency_begin), begin.size(),
                " is not one more than the number of jobs");
  }
  if (!begin.empty() && columns_.dependency_kind.size() != target.size()) {
    fail_length(info_of(JobColumn::dependency_kind), columns_.dependency_kind.size(),
                " differs from dependency_target: " + std::to_string(target.size()));
  }
  for (std::size_t row = 0; row < begin.size(); ++row) {
    const bool is_end = row + 1 == begin.size();
    const std::int64_t least = row == 0 ? 0 : begin[row - 1];
    const auto most = static_cast<std::int64_t>(target.size());
    if (begin[row] < least || begin[row] > most || (row == 0 && begin[row] != 0) ||
        (is_end && begin[row] != most)) {
      fail_at(JobColumn::dependency_begin, row, std::to_string(begin[row]));
    }
    for (std::int64_t at = least; at < begin[row]; ++at) {
      const auto place = static_cast<std::size_t>(at);
      const auto job = static_cast<std::int64_t>(row) - 1;
      if (target[place] >= std::int64_t{num_jobs()} || target[place] == job) {
        fail_at(JobColumn::dependency_target, place, std::to_string(target[place]));
      }
      if (columns_.dependency_delay_us.empty() || columns_.dependency_delay_us[place] == 0 ||
          columns_.dependency_kind[place] == 0) {
        continue;
      }
      fail_at(JobColumn::dependency_delay_us, place,
              std::to_string(columns_.dependency_delay_us[place]));
    }
  }
  for (std::size_t row = 0; row < columns_.array.size(); ++row) {
    const std::int32_t array = columns_.array[row];
    if (array >= 0 && static_cast<std::size_t>(array) >= columns_.array_limit.size()) {
      fail_at(JobColumn::array, row, std::to_string(array));
    }
  }
  for (std::size_t row = 0; row < columns_.array_limit.size(); ++row) {
    if (columns_.array_limit[row] == 0) fail_at(JobColumn::array_limit, row, "0");
  }
}

void JobTable::check_gpus_per_node() {
  for (std::size_t row = 0; row < columns_.gpus_per_node.size(); ++row) {
    const std::int32_t each = columns_.gpus_per_node[row];
    if (each == 0) continue;
    has_gpus_per_node_ = true;
    if (columns_.gpus[row] >= each && columns_.gpus[row] % each == 0) continue;
    fail_at(JobColumn::gpus_per_node, row, std::to_string(each));
  }
}

void JobTable::check_profiles() {
  num_profiles_ = first_of(Per::profile, columns_).second;
  if (num_profiles_ == 0) {
    for (const std::int32_t profile : columns_.profile) {
      num_profiles_ = std::max(num_profiles_, static_cast<std::size_t>(profile) + 1);
    }
  }
  if (num_profiles_ > 0 && !columns_.compute_s.empty()) {
    profile_stride_ =
        stride_of(JobColumn::compute_s, columns_.compute_s.size(), num_profiles_, "profiles");
  }
  const auto& counts = columns_.table_counts;
  for (std::size_t row = 1; row < counts.size(); ++row) {
    if (counts[row] > counts[row - 1]) continue;
    fail_at(JobColumn::table_counts, row, std::to_string(counts[row]));
  }
}

StageGraph JobTable::stage_graph(int graph) const noexcept {
  const auto at = static_cast<std::size_t>(graph);
  const auto begin = static_cast<std::size_t>(columns_.graph_begin[at]);
  const auto size = static_cast<std::size_t>(columns_.graph_begin[at + 1]) - begin;
  return {columns_.replicas.subspan(begin, size), columns_.activation_bytes.subspan(begin, size),
          columns_.parameter_bytes.subspan(begin, size),
          columns_.stage_compute_s.subspan(begin * graph_stride_, size * graph_stride_),
          graph_stride_};
}

void JobTable::check_graphs() {
  if (columns_.graph.empty()) return;
  const auto& begins = columns_.graph_begin;
  const std::size_t num_stages = columns_.replicas.size();
  if (begins.size() < 2 || begins.front() != 0 ||
      begins.back() != static_cast<std::int64_t>(num_stages)) {
    fail_input("graph_begin: must rise from 0 to the number of stages: " +
               std::to_string(num_stages));
  }
  for (std::size_t row = 1; row < begins.size(); ++row) {
    if (begins[row] > begins[row - 1]) continue;
    fail_at(JobColumn::graph_begin, row, std::to_string(begins[row]));
  }
  std::vector<std::int64_t> workers(begins.size() - 1);
  for (std::size_t graph = 0; graph < workers.size(); ++graph) {
    for (auto stage = begins[graph]; stage < begins[graph + 1]; ++stage) {
      workers[graph] += columns_.replicas[static_cast<std::size_t>(stage)];
    }
  }
  graph_stride_ =
      stride_of(JobColumn::stage_compute_s, columns_.stage_compute_s.size(), num_stages, "stages");
  for (std::size_t row = 0; row < columns_.graph.size(); ++row) {
    const auto graph = static_cast<std::size_t>(columns_.graph[row]);
    if (graph >= workers.size()) {
      fail_at(JobColumn::graph, row, std::to_string(columns_.graph[row]));
    }
    if (workers[graph] == columns_.gpus[row]) continue;
    fail_at(JobColumn::graph, row, std::to_string(columns_.graph[row]),
            "a graph of " + std::to_string(workers[graph]) + " workers does not fit a job of " +
                std::to_string(columns_.gpus[row]) + " GPUs");
  }
}

}  // namespace gpusched
