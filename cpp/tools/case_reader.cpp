#include "case_reader.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "case_seal.hpp"

namespace gpusched {
namespace {

/// Columns of jobs in a case that does not say how many there are.
constexpr std::uint64_t kNumUncountedColumns = 33;

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

  Parameters::Values parameters() {
    Parameters::Values values;
    for (auto left = value<std::uint64_t>(); left > 0; --left) {
      std::string name = text();
      switch (value<std::uint64_t>()) {
        case 0:
          values[name] = value<std::uint64_t>() != 0;
          break;
        case 1:
          values[name] = value<std::int64_t>();
          break;
        case 2:
          values[name] = value<double>();
          break;
        case 3:
          values[name] = text();
          break;
        case 4: {
          const std::vector<double> numbers = array<double>();
          values[name] = NumberList(numbers.begin(), numbers.end());
          break;
        }
        default:
          fail_input("case: a parameter has an unknown type");
      }
    }
    return values;
  }

  [[nodiscard]] bool is_at_end() const noexcept { return at_ == bytes_.size(); }

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

Case::Case(const std::filesystem::path& path) : Case(unsealed(bytes_of(path), path.string())) {}

Case::Case(UnsealedCase file) {
  Reader reader(std::move(file.contents));
  description.seed = reader.value<std::uint64_t>();
  description.policy = reader.text();
  description.policy_values = reader.parameters();
  description.placement = reader.text();
  description.placement_values = reader.parameters();
  description.speed = reader.text();
  description.speed_values = reader.parameters();
  description.contention = reader.text();
  description.contention_values = reader.parameters();
  // Columns added by later versions come last.
  auto num_columns = file.counts_columns ? reader.value<std::uint64_t>() : kNumUncountedColumns;
  if (num_columns > kJobColumns.size()) {
    fail_input("case: there are " + std::to_string(num_columns) + " columns of jobs, only " +
               std::to_string(kJobColumns.size()) + " are known");
  }
  for_each_column(
      [&]<class Value>(const ColumnInfo& /*info*/, std::vector<Value>& values) {
        if (num_columns == 0) return;
        values = reader.array<Value>();
        --num_columns;
      },
      columns);
  server_gpus = reader.array<std::int32_t>();
  server_type = reader.array<std::int32_t>();
  nic_bytes_per_s = reader.array<double>();
  intra_bytes_per_s = reader.array<double>();
  server_domain = reader.array<std::int32_t>();
  domain_parent = reader.array<std::int32_t>();
  uplink_bytes_per_s = reader.array<double>();
  cpu_milli = reader.array<std::int64_t>();
  memory_mib = reader.array<std::int64_t>();
  if (!reader.is_at_end()) part_of = reader.array<std::int32_t>();  // older files have none
}

JobTable Case::make_jobs() const {
  JobColumns borrowed;
  for_each_column([](const ColumnInfo& /*info*/, const auto& own, auto& view) { view = own; },
                  columns, borrowed);
  return JobTable(borrowed);
}

Cluster Case::make_cluster() const {
  return Cluster(server_gpus, server_type,
                 {nic_bytes_per_s, intra_bytes_per_s, server_domain, domain_parent,
                  uplink_bytes_per_s},
                 {cpu_milli, memory_mib, part_of});
}

}  // namespace gpusched
