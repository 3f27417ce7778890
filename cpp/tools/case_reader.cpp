#include "case_reader.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

#include "base/check.hpp"
#include "case_seal.hpp"

namespace gpusched {
namespace {

/// Reads the case front to back; whatever is missing or too long is an InvalidInput.
class Reader {
 public:
  explicit Reader(std::vector<char> bytes) : bytes_(std::move(bytes)) {}

  template <class Value>
  Value value() {
    Value out;
    std::memcpy(&out, take(sizeof(Value)), sizeof(Value));
    return out;
  }

  std::string text() {
    const auto size = value<std::uint64_t>();
    const char* data = take(size);
    return {data, data + size};
  }

  template <class Value>
  std::vector<Value> array() {
    const auto size = value<std::uint64_t>();
    if (size > bytes_.size()) fail_input("case: an array is longer than the file");
    std::vector<Value> out(size);
    const char* data = take(size * sizeof(Value));
    if (size > 0) std::memcpy(out.data(), data, size * sizeof(Value));
    return out;
  }

  std::vector<Demand> demands() {
    const auto share_milli = array<std::int32_t>();
    const auto cpu_milli = array<std::int64_t>();
    const auto memory_mib = array<std::int64_t>();
    if (cpu_milli.size() != share_milli.size() || memory_mib.size() != share_milli.size()) {
      fail_input("case: the columns of demands differ in length");
    }
    std::vector<Demand> out;
    for (std::size_t row = 0; row < share_milli.size(); ++row) {
      out.push_back({share_milli[row], cpu_milli[row], memory_mib[row]});
    }
    return out;
  }

  Parameters::Values parameters() {
    Parameters::Values values;
    for (auto left = value<std::uint64_t>(); left > 0; --left) {
      std::string name = text();
      switch (value<std::uint64_t>()) {
        case 0: values[name] = value<std::uint64_t>() != 0; break;
        case 1: values[name] = value<std::int64_t>(); break;
        case 2: values[name] = value<double>(); break;
        case 3: values[name] = text(); break;
        case 4: values[name] = array<double>(); break;
        default: fail_input("case: a parameter has an unknown type");
      }
    }
    return values;
  }

 private:
  const char* take(std::size_t size) {
    if (size > bytes_.size() - at_) fail_input("case: the file is truncated");
    const char* data = bytes_.data() + at_;
    at_ += size;
    return data;
  }

  std::vector<char> bytes_;
  std::size_t at_ = 0;
};

std::vector<char> bytes_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input(path.string() + ": cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Case::Case(const std::filesystem::path& path) {
  Reader reader(unsealed(bytes_of(path), path.string()));
  seed = reader.value<std::uint64_t>();
  policy = reader.text();
  policy_values = reader.parameters();
  placement_name = reader.text();
  placement_values = reader.parameters();
  speed_name = reader.text();
  speed_values = reader.parameters();
  contention_name = reader.text();
  contention_values = reader.parameters();
  submit_us = reader.array<std::int64_t>();
  service_us = reader.array<std::int64_t>();
  gpus = reader.array<std::int32_t>();
  predicted_us = reader.array<std::int64_t>();
  estimate_us = reader.array<std::int64_t>();
  checkpoint_us = reader.array<std::int64_t>();
  restart_us = reader.array<std::int64_t>();
  weight = reader.array<double>();
  type_set = reader.array<std::int32_t>();
  type_masks = reader.array<std::uint64_t>();
  profile = reader.array<std::int32_t>();
  gradient_bytes = reader.array<double>();
  compute_s = reader.array<double>();
  graph = reader.array<std::int32_t>();
  graph_begin = reader.array<std::int32_t>();
  replicas = reader.array<std::int32_t>();
  stage_compute_s = reader.array<double>();
  activation_bytes = reader.array<double>();
  parameter_bytes = reader.array<double>();
  deadline_us = reader.array<std::int64_t>();
  value = reader.array<double>();
  min_gpus = reader.array<std::int32_t>();
  max_gpus = reader.array<std::int32_t>();
  demand = reader.array<std::int32_t>();
  demands = reader.demands();
  table_counts = reader.array<std::int32_t>();
  throughput = reader.array<double>();
  spread_throughput = reader.array<double>();
  samples_per_s = reader.array<double>();
  max_samples = reader.array<std::int64_t>();
  global_batch = reader.array<std::int64_t>();
  server_gpus = reader.array<std::int32_t>();
  server_type = reader.array<std::int32_t>();
  nic_bytes_per_s = reader.array<double>();
  intra_bytes_per_s = reader.array<double>();
  server_domain = reader.array<std::int32_t>();
  domain_parent = reader.array<std::int32_t>();
  uplink_bytes_per_s = reader.array<double>();
  cpu_milli = reader.array<std::int64_t>();
  memory_mib = reader.array<std::int64_t>();
}

JobTable Case::make_jobs() const {
  return JobTable({.submit_us = submit_us,
                   .service_us = service_us,
                   .gpus = gpus,
                   .predicted_us = predicted_us,
                   .estimate_us = estimate_us,
                   .checkpoint_us = checkpoint_us,
                   .restart_us = restart_us,
                   .weight = weight,
                   .deadline_us = deadline_us,
                   .value = value,
                   .min_gpus = min_gpus,
                   .max_gpus = max_gpus,
                   .demand = demand,
                   .demands = demands,
                   .type_set = type_set,
                   .type_masks = type_masks,
                   .profile = profile,
                   .gradient_bytes = gradient_bytes,
                   .compute_s = compute_s,
                   .table_counts = table_counts,
                   .throughput = throughput,
                   .spread_throughput = spread_throughput,
                   .samples_per_s = samples_per_s,
                   .max_samples = max_samples,
                   .global_batch = global_batch,
                   .graph = graph,
                   .graph_begin = graph_begin,
                   .replicas = replicas,
                   .stage_compute_s = stage_compute_s,
                   .activation_bytes = activation_bytes,
                   .parameter_bytes = parameter_bytes});
}

Cluster Case::make_cluster() const {
  return Cluster(server_gpus, server_type,
                 {nic_bytes_per_s, intra_bytes_per_s, server_domain, domain_parent,
                  uplink_bytes_per_s},
                 {cpu_milli, memory_mib});
}

}  // namespace gpusched
