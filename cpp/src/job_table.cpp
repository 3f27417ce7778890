#include "gpusched/job_table.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "gpusched/check.hpp"

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
    if (columns_.gpus[row] < 1) {
      fail_at("gpus", row, std::to_string(columns_.gpus[row]), "at least 1");
    }
    // Reservations may queue up estimates as runs queue up services.
    total += columns_.estimate_us.empty()
                 ? columns_.service_us[row]
                 : std::max(columns_.service_us[row], columns_.estimate_us[row]);
    if (total > kMaxTicks || submit[row] > kMaxTicks - total) {
      fail_at("service_us", row, std::to_string(columns_.service_us[row]),
              "the last submit and all services or estimates together must stay below 2^62 microseconds");
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
}

}  // namespace gpusched
