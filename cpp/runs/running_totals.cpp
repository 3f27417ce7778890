#include "runs/running_totals.hpp"

#include <cstddef>
#include <string>

#include "base/check.hpp"

namespace gpusched {
namespace {

void check(std::span<const std::int64_t> time_us, std::span<const std::int64_t> codes,
           const std::vector<std::vector<std::int64_t>>& changes) {
  if (codes.size() != time_us.size()) {
    fail_input("codes: must have a value per time, " + std::to_string(time_us.size()) + ", not " +
               std::to_string(codes.size()));
  }
  const std::size_t known = changes.empty() ? 0 : changes.front().size();
  for (std::size_t row = 0; row < changes.size(); ++row) {
    if (changes[row].size() != known) {
      fail_input("changes[" + std::to_string(row) + "]: has " +
                 std::to_string(changes[row].size()) + " codes, others " + std::to_string(known));
    }
  }
  for (std::size_t event = 0; event < codes.size(); ++event) {
    if (codes[event] < 0 || static_cast<std::size_t>(codes[event]) >= known) {
      fail_input("codes[" + std::to_string(event) + "]: " + std::to_string(codes[event]) +
                 " is none of the " + std::to_string(known) + " with a change");
    }
    if (event > 0 && time_us[event] < time_us[event - 1]) {
      fail_input("time_us[" + std::to_string(event) + "]: " + std::to_string(time_us[event]) +
                 " lies before the one in front of it, " + std::to_string(time_us[event - 1]));
    }
  }
}

}  // namespace

RunningTotals running_totals(std::span<const std::int64_t> time_us,
                             std::span<const std::int64_t> codes,
                             const std::vector<std::vector<std::int64_t>>& changes) {
  check(time_us, codes, changes);
  const auto is_last = [&](std::size_t event) {
    return event + 1 == time_us.size() || time_us[event] != time_us[event + 1];
  };
  RunningTotals found;
  for (std::size_t event = 0; event < time_us.size(); ++event) {
    if (is_last(event)) found.time_us.push_back(time_us[event]);
  }
  // A row at a time: its changes stay in the nearest cache, and the codes are read in order.
  for (const std::vector<std::int64_t>& row : changes) {
    std::vector<std::int64_t>& totals = found.totals.emplace_back();
    totals.reserve(found.time_us.size());
    std::int64_t total = 0;
    for (std::size_t event = 0; event < time_us.size(); ++event) {
      total += row[static_cast<std::size_t>(codes[event])];
      if (is_last(event)) totals.push_back(total);
    }
  }
  return found;
}

}  // namespace gpusched
