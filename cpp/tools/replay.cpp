// Runs a saved case on the core alone and prints its digest: what sanitizers, profilers and
// fuzzers drive. A case is a flat file that Result.save_case writes (python/gpusched/case.py).

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "case_seal.hpp"
#include "gpusched/check.hpp"
#include "gpusched/policy.hpp"
#include "gpusched/simulation.hpp"

namespace {

using namespace gpusched;

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

int replay(const char* path, int num_runs, bool verify) {
  std::ifstream file(path, std::ios::binary);
  if (!file) fail_input(std::string(path) + ": cannot be read");
  Reader reader(unsealed({std::istreambuf_iterator<char>(file), {}}, path));
  const auto seed = reader.value<std::uint64_t>();
  const std::string policy = reader.text();
  const auto policy_values = reader.parameters();
  const std::string placement_name = reader.text();
  const auto placement_values = reader.parameters();
  const std::string speed_name = reader.text();
  const auto speed_values = reader.parameters();
  const std::string contention_name = reader.text();
  const auto contention_values = reader.parameters();
  const auto submit_us = reader.array<std::int64_t>();
  const auto service_us = reader.array<std::int64_t>();
  const auto gpus = reader.array<std::int32_t>();
  const auto predicted_us = reader.array<std::int64_t>();
  const auto estimate_us = reader.array<std::int64_t>();
  const auto checkpoint_us = reader.array<std::int64_t>();
  const auto restart_us = reader.array<std::int64_t>();
  const auto weight = reader.array<double>();
  const auto type_set = reader.array<std::int32_t>();
  const auto type_masks = reader.array<std::uint64_t>();
  const auto profile = reader.array<std::int32_t>();
  const auto gradient_bytes = reader.array<double>();
  const auto compute_s = reader.array<double>();
  const auto graph = reader.array<std::int32_t>();
  const auto graph_begin = reader.array<std::int32_t>();
  const auto replicas = reader.array<std::int32_t>();
  const auto stage_compute_s = reader.array<double>();
  const auto activation_bytes = reader.array<double>();
  const auto parameter_bytes = reader.array<double>();
  const auto deadline_us = reader.array<std::int64_t>();
  const auto value = reader.array<double>();
  const auto min_gpus = reader.array<std::int32_t>();
  const auto max_gpus = reader.array<std::int32_t>();
  const auto demand = reader.array<std::int32_t>();
  const std::vector<Demand> demands = reader.demands();
  const auto table_counts = reader.array<std::int32_t>();
  const auto throughput = reader.array<double>();
  const auto spread_throughput = reader.array<double>();
  const auto samples_per_s = reader.array<double>();
  const auto max_samples = reader.array<std::int64_t>();
  const auto global_batch = reader.array<std::int64_t>();
  const auto server_gpus = reader.array<std::int32_t>();
  const auto server_type = reader.array<std::int32_t>();
  const auto nic_bytes_per_s = reader.array<double>();
  const auto intra_bytes_per_s = reader.array<double>();
  const auto server_domain = reader.array<std::int32_t>();
  const auto domain_parent = reader.array<std::int32_t>();
  const auto uplink_bytes_per_s = reader.array<double>();
  const auto cpu_milli = reader.array<std::int64_t>();
  const auto memory_mib = reader.array<std::int64_t>();

  const JobTable jobs({.submit_us = submit_us,
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
  const Cluster cluster(server_gpus, server_type,
                        {nic_bytes_per_s, intra_bytes_per_s, server_domain, domain_parent,
                         uplink_bytes_per_s},
                        {cpu_milli, memory_mib});
  std::string digest;
  for (int run = 0; run < num_runs; ++run) {
    const auto placement = make_placement(placement_name, placement_values);
    const auto speed = make_speed(speed_name, speed_values);
    const auto contention = make_contention(contention_name, contention_values);
    const auto scheduler = make_scheduler(policy, policy_values, *placement, jobs);
    const auto begin = std::chrono::steady_clock::now();
    RunControl control;
    Simulation simulation(jobs, cluster, *scheduler, *placement, {*speed, *contention, verify},
                          seed, control);
    simulation.run();
    const Schedule schedule = simulation.finish();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    if (run == 0) digest = schedule.digest();
    std::fprintf(stderr, "%.6f s\n", wall.count());
  }
  std::printf("%s\n", digest.c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const bool verify = argc > 2 && std::strcmp(argv[argc - 1], "--verify") == 0;
  if (verify) --argc;
  if (argc < 2 || argc > 3) {
    std::fprintf(stderr, "usage: gpusched-replay CASE [RUNS] [--verify]\n");
    return 2;
  }
  try {
    return replay(argv[1], argc == 3 ? std::stoi(argv[2]) : 1, verify);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpusched-replay: %s\n", error.what());
    return 2;
  }
}
