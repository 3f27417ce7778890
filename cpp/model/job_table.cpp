#include "model/job_table.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace gpusched {
namespace {

[[noreturn]] void fail_at(const char* column, std::size_t row, const std::string& value,
                          const char* rule) {
  fail_input(std::string(column) + ": row " + std::to_string(row) + " is " + value + "; " + rule);
}

template <class Value>
void check_length(const char* column, std::span<const Value> values, std::size_t num_jobs) {
  if (!values.empty() && values.size() != num_jobs) {
    fail_input(std::string(column) + ": length " + std::to_string(values.size()) +
               " differs from submit_us: " + std::to_string(num_jobs));
  }
}

void check_range(const char* column, std::span<const std::int64_t> values, std::int64_t least,
                 const char* rule) {
  for (std::size_t row = 0; row < values.size(); ++row) {
    if (values[row] < least || values[row] > kMaxServiceTicks) {
      fail_at(column, row, std::to_string(values[row]), rule);
    }
  }
}

}  // namespace

JobTable::JobTable(JobColumns columns) : columns_(std::move(columns)) {
  const auto& submit = columns_.submit_us;
  const std::size_t num_jobs = submit.size();
  if (num_jobs == 0) fail_input("submit_us: a trace needs at least one job");
  if (num_jobs >= kNoJob) fail_input("submit_us: at most 4294967294 jobs");
  if (columns_.service_us.size() != num_jobs) {
    fail_input("service_us: length " + std::to_string(columns_.service_us.size()) +
               " differs from submit_us: " + std::to_string(num_jobs));
  }
  if (columns_.gpus.size() != num_jobs) {
    fail_input("gpus: length " + std::to_string(columns_.gpus.size()) +
               " differs from submit_us: " + std::to_string(num_jobs));
  }
  check_length("predicted_us", columns_.predicted_us, num_jobs);
  check_length("estimate_us", columns_.estimate_us, num_jobs);
  check_length("checkpoint_us", columns_.checkpoint_us, num_jobs);
  check_length("restart_us", columns_.restart_us, num_jobs);
  check_length("weight", columns_.weight, num_jobs);
  check_length("type_set", columns_.type_set, num_jobs);

  check_range("service_us", columns_.service_us, 1, "1 to 2^53 microseconds are allowed");
  check_range("predicted_us", columns_.predicted_us, 1, "1 to 2^53 microseconds are allowed");
  check_range("estimate_us", columns_.estimate_us, 1, "1 to 2^53 microseconds are allowed");
  check_range("checkpoint_us", columns_.checkpoint_us, 0, "0 to 2^53 microseconds are allowed");
  check_range("restart_us", columns_.restart_us, 0, "0 to 2^53 microseconds are allowed");

  std::int64_t total = 0;
  for (std::size_t row = 0; row < num_jobs; ++row) {
    if (submit[row] < 0) fail_at("submit_us", row, std::to_string(submit[row]), "at least 0");
    if (row > 0 && submit[row] < submit[row - 1]) {
      fail_at("submit_us", row, std::to_string(submit[row]), "the column must be sorted");
    }
    // A task without GPUs asks for other things.
    if (columns_.gpus[row] < (columns_.demand.empty() ? 1 : 0)) {
      fail_at("gpus", row, std::to_string(columns_.gpus[row]), "at least 1");
    }
    // Reservations may queue up estimates as runs queue up services.
    const auto job = static_cast<JobId>(row);
    const std::int64_t ticks = std::max(service(job), estimate(job)).count();
    total += ticks;
    if (total >= kMaxTicks || submit[row] >= kMaxTicks - total) {
      fail_at(longest_column(job), row, std::to_string(ticks),
              "the last submit and all services, estimates or predictions together must stay "
              "below 2^62 microseconds");
    }
  }
  for (std::size_t row = 0; row < columns_.weight.size(); ++row) {
    const double weight = columns_.weight[row];
    if (!std::isfinite(weight) || weight <= 0) {
      fail_at("weight", row, std::to_string(weight), "positive and finite");
    }
  }
  for (std::size_t row = 0; row < columns_.type_set.size(); ++row) {
    const int set = columns_.type_set[row];
    if (set < 0 || static_cast<std::size_t>(set) >= columns_.type_masks.size()) {
      fail_at("type_set", row, std::to_string(set), "an index into the type sets");
    }
  }
  check_deadlines();
  check_widths();
  check_demands();
  check_profiles();
  check_tables();
  check_graphs();
}

const char* JobTable::longest_column(JobId job) const noexcept {
  if (service(job) >= estimate(job)) return "service_us";
  return columns_.estimate_us.empty() ? "predicted_us" : "estimate_us";
}

void JobTable::check_deadlines() const {
  check_length("deadline_us", columns_.deadline_us, columns_.submit_us.size());
  check_length("value", columns_.value, columns_.submit_us.size());
  for (std::size_t row = 0; row < columns_.deadline_us.size(); ++row) {
    const std::int64_t deadline = columns_.deadline_us[row];
    if (deadline == kNoDeadline || (deadline > columns_.submit_us[row] && deadline < kMaxTicks)) {
      continue;
    }
    fail_at("deadline_us", row, std::to_string(deadline),
            "after the submit and below 2^62 microseconds, or -1");
  }
  for (std::size_t row = 0; row < columns_.value.size(); ++row) {
    const double value = columns_.value[row];
    if (value > 0 && std::isfinite(value)) continue;
    fail_at("value", row, std::to_string(value), "positive and finite");
  }
}

void JobTable::check_widths() const {
  check_length("min_gpus", columns_.min_gpus, columns_.submit_us.size());
  check_length("max_gpus", columns_.max_gpus, columns_.submit_us.size());
  for (std::size_t row = 0; row < columns_.min_gpus.size(); ++row) {
    if (columns_.min_gpus[row] >= 1 && columns_.min_gpus[row] <= columns_.gpus[row]) continue;
    fail_at("min_gpus", row, std::to_string(columns_.min_gpus[row]), "1 to gpus");
  }
  for (std::size_t row = 0; row < columns_.max_gpus.size(); ++row) {
    if (columns_.max_gpus[row] >= columns_.gpus[row]) continue;
    fail_at("max_gpus", row, std::to_string(columns_.max_gpus[row]), "at least gpus");
  }
}

void JobTable::check_demands() {
  check_length("demand", columns_.demand, columns_.submit_us.size());
  for (std::size_t row = 0; row < columns_.demands.size(); ++row) {
    const Demand& demand = columns_.demands[row];
    if (demand.share_milli < 1 || demand.share_milli > kWholeGpu) {
      fail_at("share_milli", row, std::to_string(demand.share_milli), "1 to 1000");
    }
    for (const auto& [column, asked] : {std::pair{"cpu_milli", demand.cpu_milli},
                                        std::pair{"memory_mib", demand.memory_mib}}) {
      if (asked < 0 || asked > kMaxDemand) {
        fail_at(column, row, std::to_string(asked), "0 to 2^40");
      }
    }
  }
  for (std::size_t row = 0; row < columns_.demand.size(); ++row) {
    const std::int32_t index = columns_.demand[row];
    if (index < 0 || static_cast<std::size_t>(index) >= columns_.demands.size()) {
      fail_at("demand", row, std::to_string(index), "an index into the demands");
    }
    if (!columns_.demands[static_cast<std::size_t>(index)].is_share()) continue;
    has_shares_ = true;
    if (columns_.gpus[row] == 1) continue;
    fail_at("gpus", row, std::to_string(columns_.gpus[row]), "a share is of one GPU");
  }
}

void JobTable::check_tables() const {
  const auto check_figures = [](const char* column, std::span<const double> figures) {
    for (std::size_t row = 0; row < figures.size(); ++row) {
      if (figures[row] >= 0 && std::isfinite(figures[row])) continue;
      fail_at(column, row, std::to_string(figures[row]), "finite and at least 0");
    }
  };
  check_figures("throughput", columns_.throughput);
  check_figures("spread_throughput", columns_.spread_throughput);
  check_figures("samples_per_s", columns_.samples_per_s);
  for (std::size_t row = 0; row < columns_.table_counts.size(); ++row) {
    if (columns_.table_counts[row] > (row == 0 ? 0 : columns_.table_counts[row - 1])) continue;
    fail_at("table_counts", row, std::to_string(columns_.table_counts[row]),
            "positive and ascending");
  }
  const auto check_samples = [](const char* column, std::span<const std::int64_t> samples) {
    for (std::size_t row = 0; row < samples.size(); ++row) {
      if (samples[row] >= 0) continue;
      fail_at(column, row, std::to_string(samples[row]), "at least 0");
    }
  };
  check_samples("max_samples", columns_.max_samples);
  check_samples("global_batch", columns_.global_batch);
}

void JobTable::check_profiles() {
  const std::size_t num_profiles = columns_.gradient_bytes.size();
  check_length("profile", columns_.profile, columns_.submit_us.size());
  for (std::size_t row = 0; row < columns_.profile.size(); ++row) {
    const std::int32_t profile = columns_.profile[row];
    // Tables of throughputs are checked against the cluster, by the speed that reads them.
    if (profile < 0 || (num_profiles > 0 && static_cast<std::size_t>(profile) >= num_profiles)) {
      fail_at("profile", row, std::to_string(profile), "an index into the profiles");
    }
  }
  for (std::size_t row = 0; row < num_profiles; ++row) {
    const double bytes = columns_.gradient_bytes[row];
    if (!(bytes >= 0 && std::isfinite(bytes))) {
      fail_at("gradient_bytes", row, std::to_string(bytes), "finite and at least 0");
    }
  }
  if (num_profiles == 0 || columns_.compute_s.empty()) return;
  profile_stride_ = columns_.compute_s.size() / num_profiles;
  if (profile_stride_ == 0 || columns_.compute_s.size() % num_profiles != 0) {
    fail_input("compute_s: length " + std::to_string(columns_.compute_s.size()) +
               " is not one value for each of " + std::to_string(num_profiles) +
               " profiles and each GPU type");
  }
  for (std::size_t row = 0; row < columns_.compute_s.size(); ++row) {
    const double seconds = columns_.compute_s[row];
    if (std::isnan(seconds) || (seconds > 0 && std::isfinite(seconds))) continue;
    fail_at("compute_s", row, std::to_string(seconds), "positive and finite");
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
  const auto& begins = columns_.graph_begin;
  const std::size_t num_stages = columns_.replicas.size();
  check_length("graph", columns_.graph, columns_.submit_us.size());
  if (columns_.graph.empty()) return;
  if (begins.size() < 2 || begins.front() != 0 ||
      begins.back() != static_cast<std::int64_t>(num_stages)) {
    fail_input("graph_begin: must rise from 0 to the number of stages: " +
               std::to_string(num_stages));
  }
  for (std::size_t row = 1; row < begins.size(); ++row) {
    if (begins[row] > begins[row - 1]) continue;
    fail_at("graph_begin", row, std::to_string(begins[row]), "each graph has at least one stage");
  }
  const auto check_bytes = [&](const char* column, std::span<const double> bytes) {
    if (bytes.size() != num_stages) {
      fail_input(std::string(column) + ": length " + std::to_string(bytes.size()) +
                 " differs from replicas: " + std::to_string(num_stages));
    }
    for (std::size_t row = 0; row < bytes.size(); ++row) {
      if (bytes[row] >= 0 && std::isfinite(bytes[row])) continue;
      fail_at(column, row, std::to_string(bytes[row]), "finite and at least 0");
    }
  };
  check_bytes("activation_bytes", columns_.activation_bytes);
  check_bytes("parameter_bytes", columns_.parameter_bytes);
  graph_stride_ = columns_.stage_compute_s.size() / num_stages;
  if (graph_stride_ == 0 || columns_.stage_compute_s.size() % num_stages != 0) {
    fail_input("stage_compute_s: length " + std::to_string(columns_.stage_compute_s.size()) +
               " is not one value for each of " + std::to_string(num_stages) +
               " stages and each GPU type");
  }
  for (std::size_t row = 0; row < columns_.stage_compute_s.size(); ++row) {
    const double seconds = columns_.stage_compute_s[row];
    if (std::isnan(seconds) || (seconds > 0 && std::isfinite(seconds))) continue;
    fail_at("stage_compute_s", row, std::to_string(seconds), "positive and finite");
  }
  std::vector<std::int64_t> workers(begins.size() - 1);
  for (std::size_t graph = 0; graph < workers.size(); ++graph) {
    for (auto stage = begins[graph]; stage < begins[graph + 1]; ++stage) {
      const std::int32_t replicas = columns_.replicas[static_cast<std::size_t>(stage)];
      if (replicas < 1) {
        fail_at("replicas", static_cast<std::size_t>(stage), std::to_string(replicas),
                "at least 1");
      }
      workers[graph] += replicas;
    }
  }
  for (std::size_t row = 0; row < columns_.graph.size(); ++row) {
    const std::int32_t graph = columns_.graph[row];
    if (graph < 0 || static_cast<std::size_t>(graph) >= workers.size()) {
      fail_at("graph", row, std::to_string(graph), "an index into the graphs");
    }
    if (workers[static_cast<std::size_t>(graph)] == columns_.gpus[row]) continue;
    fail_at("graph", row, std::to_string(graph),
            ("a graph of " + std::to_string(workers[static_cast<std::size_t>(graph)]) +
             " workers does not fit a job of " + std::to_string(columns_.gpus[row]) + " GPUs")
                .c_str());
  }
}

}  // namespace gpusched
