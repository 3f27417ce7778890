#include "model/cluster.hpp"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "base/index_set.hpp"

namespace gpusched {

Cluster::Cluster(std::span<const std::int32_t> server_gpus,
                 std::span<const std::int32_t> server_type, const NetworkColumns& network,
                 const CapacityColumns& capacity)
    : gpus_(server_gpus.begin(), server_gpus.end()),
      types_(server_type.begin(), server_type.end()) {
  if (gpus_.empty()) fail_input("server_gpus: a cluster needs at least one server");
  if (gpus_.size() > IndexSet::kMaxSize) {
    fail_input("server_gpus: at most " + std::to_string(IndexSet::kMaxSize) + " servers, got " +
               std::to_string(gpus_.size()));
  }
  if (gpus_.size() != types_.size()) {
    fail_input("server_type: length " + std::to_string(types_.size()) +
               " differs from server_gpus: " + std::to_string(gpus_.size()));
  }
  for (std::size_t server = 0; server < gpus_.size(); ++server) {
    const int gpus = gpus_[server];
    const int type = types_[server];
    if (gpus < 1 || gpus > kMaxGpusPerServer) {
      fail_input("server_gpus: server " + std::to_string(server) + " has " + std::to_string(gpus) +
                 " GPUs; it must have 1 to 64");
    }
    if (type < 0 || type >= kMaxGpuTypes) {
      fail_input("server_type: server " + std::to_string(server) + " has type " +
                 std::to_string(type) + "; it must be 0 to 63");
    }
    const auto at = static_cast<std::size_t>(type);
    if (at >= gpus_of_type_.size()) {
      gpus_of_type_.resize(at + 1);
      largest_of_type_.resize(at + 1);
    }
    gpus_of_type_[at] += gpus;
    largest_of_type_[at] = std::max(largest_of_type_[at], gpus);
    num_gpus_ += gpus;
    largest_ = std::max(largest_, gpus);
    all_types_ |= TypeMask{1} << type;
  }
  network_ = Network(gpus_, network);
  read_capacity(capacity);
}

void Cluster::read_capacity(const CapacityColumns& capacity) {
  const auto read = [&](const char* column, std::span<const std::int64_t> given,
                        std::vector<std::int64_t>& out) {
    if (given.empty()) return;
    if (given.size() != gpus_.size()) {
      fail_input(std::string(column) + ": length " + std::to_string(given.size()) +
                 " differs from server_gpus: " + std::to_string(gpus_.size()));
    }
    for (const std::int64_t amount : given) {
      out.push_back(amount < 0 ? kUnlimited : std::min(amount, kUnlimited));
    }
  };
  read("cpu_milli", capacity.cpu_milli, cpu_milli_);
  read("memory_mib", capacity.memory_mib, memory_mib_);
  read_parts(capacity.part_of);
}

void Cluster::read_parts(std::span<const std::int32_t> part_of) {
  if (part_of.empty()) return;
  if (part_of.size() != gpus_.size()) {
    fail_input("part_of: length " + std::to_string(part_of.size()) +
               " differs from server_gpus: " + std::to_string(gpus_.size()));
  }
  std::vector<std::int32_t> last(gpus_.size());  // of the parts of each server so far
  part_of_.assign(part_of.begin(), part_of.end());
  next_part_.assign(gpus_.size(), -1);
  for (std::int32_t server = 0; server < num_servers(); ++server) {
    const auto at = static_cast<std::size_t>(server);
    const std::int32_t first = part_of[at];
    if (first < 0 || first > server || part_of[static_cast<std::size_t>(first)] != first) {
      fail_input("part_of: server " + std::to_string(server) + " is part of " +
                 std::to_string(first) + "; it must be itself, or the first part of its server");
    }
    last[at] = server;
    if (first == server) continue;
    std::int32_t& before = last[static_cast<std::size_t>(first)];
    next_part_[static_cast<std::size_t>(before)] = server;
    before = server;
  }
}

std::int64_t Cluster::gpus_of(TypeMask types) const noexcept {
  std::int64_t sum = 0;
  for (TypeMask rest = types & all_types_; rest != 0; rest &= rest - 1) {
    sum += gpus_of_type_[static_cast<std::size_t>(std::countr_zero(rest))];
  }
  return sum;
}

std::int64_t Cluster::gpus_of_gang(TypeMask types) const noexcept {
  if (!has_parts()) return gpus_of(types);
  std::int64_t most = 0;
  for (TypeMask rest = types & all_types_; rest != 0; rest &= rest - 1) {
    most = std::max(most, gpus_of(rest & -rest));
  }
  return most;
}

int Cluster::num_servers_of(TypeMask types, int least_gpus) const noexcept {
  std::vector<int> of_type(static_cast<std::size_t>(num_types()));
  for (ServerId server = 0; server < num_servers(); ++server) {
    if ((types >> type(server) & 1) == 0 || gpus(server) < least_gpus) continue;
    ++of_type[has_parts() ? static_cast<std::size_t>(type(server)) : 0];
  }
  return *std::max_element(of_type.begin(), of_type.end());
}

int Cluster::largest_of(TypeMask types) const noexcept {
  int largest = 0;
  for (TypeMask rest = types & all_types_; rest != 0; rest &= rest - 1) {
    largest = std::max(largest, largest_of_type_[static_cast<std::size_t>(std::countr_zero(rest))]);
  }
  return largest;
}

}  // namespace gpusched
