#include "runs/group_times.hpp"

#include <cstddef>
#include <limits>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "runs/run_measures.hpp"

namespace gpusched {
namespace {

/// Counts the jobs of each group, which shows that all are in range.
std::vector<std::int64_t> counts_of(std::span<const std::int32_t> group, std::size_t num_groups) {
  std::vector<std::int64_t> count(num_groups);
  for (std::size_t job = 0; job < group.size(); ++job) {
    if (group[job] < 0) continue;
    const auto of = static_cast<std::size_t>(group[job]);
    if (of >= num_groups) {
      fail_input("group[" + std::to_string(job) + "]: " + std::to_string(of) +
                 "; it must be below " + std::to_string(num_groups));
    }
    ++count[of];
  }
  return count;
}

void check(std::span<const std::uint32_t> order, std::span<const std::int64_t> time_us,
           std::span<const std::int32_t> group, std::span<const std::int64_t> percents) {
  for (const auto& [name, size] :
       {std::pair("time_us", time_us.size()), std::pair("group", group.size())}) {
    if (size != order.size()) {
      fail_input(std::string(name) + ": must have one value per entry of order, " +
                 std::to_string(order.size()) + ", not " + std::to_string(size));
    }
  }
  std::int64_t last = 0;
  for (const std::int64_t percent : percents) {
    if (percent <= last || percent > 100) {
      fail_input("percents: must ascend within 1..100, not " + std::to_string(percent) + " after " +
                 std::to_string(last));
    }
    last = percent;
  }
}

/// The position of a group in a walk through its times.
struct GroupWalk {
  std::int64_t seen = 0;
  std::int64_t next = 0;  // times after which the next percentile has been reached
  std::size_t percent = 0;
  Int128 sum_us = 0;
};

/// The times of the nearest rank and below: at least one.
std::int64_t rank_of(std::int64_t percent, std::int64_t count) {
  return (percent * count + 99) / 100;
}

}  // namespace

GroupTimes group_times(std::span<const std::uint32_t> order, std::span<const std::int64_t> time_us,
                       std::span<const std::int32_t> group, std::size_t num_groups,
                       std::span<const std::int64_t> percents) {
  check(order, time_us, group, percents);
  GroupTimes found{.count = counts_of(group, num_groups),
                   .mean_us = std::vector<double>(num_groups),
                   .percentiles_us = {percents.size(), std::vector<std::int64_t>(num_groups, -1)}};
  std::vector<GroupWalk> walks(num_groups);
  for (std::size_t of = 0; of < num_groups && !percents.empty(); ++of) {
    walks[of].next = rank_of(percents.front(), found.count[of]);
  }
  for (std::size_t place = 0; place < order.size(); ++place) {
    if (order[place] >= group.size()) {
      fail_input("order[" + std::to_string(place) + "]: unknown job " +
                 std::to_string(order[place]) + " of " + std::to_string(group.size()));
    }
    if (group[order[place]] < 0) continue;
    const auto of = static_cast<std::size_t>(group[order[place]]);
    GroupWalk& walk = walks[of];
    walk.sum_us += time_us[place];
    ++walk.seen;
    while (walk.seen == walk.next) {
      found.percentiles_us[walk.percent++][of] = time_us[place];
      walk.next =
          walk.percent < percents.size() ? rank_of(percents[walk.percent], found.count[of]) : -1;
    }
  }
  for (std::size_t of = 0; of < num_groups; ++of) {
    found.mean_us[of] = found.count[of] > 0 ? static_cast<double>(walks[of].sum_us) /
                                                  static_cast<double>(found.count[of])
                                            : std::numeric_limits<double>::quiet_NaN();
  }
  return found;
}

}  // namespace gpusched
