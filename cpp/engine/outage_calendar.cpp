#include "engine/outage_calendar.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/check.hpp"

namespace gpusched {

void OutageCalendar::begin(std::span<const Outage> outages, const Cluster& cluster) {
  for (std::size_t row = 0; row < outages.size(); ++row) {
    const Outage& outage = outages[row];
    const auto fail = [&](const std::string& what) {
      fail_input("outages: row " + std::to_string(row) + ": " + what);
    };
    if (outage.server < 0 || outage.server >= cluster.num_servers()) {
      fail("server " + std::to_string(outage.server) + " is not one of the " +
           std::to_string(cluster.num_servers()));
    }
    const bool is_in_time = outage.start >= Time{0} && outage.start.count() < kMaxTicks &&
                            (outage.end == kNever || outage.end.count() < kMaxTicks);
    if (!is_in_time || outage.end <= outage.start) {
      fail("from " + std::to_string(outage.start.count()) + " to " +
           std::to_string(outage.end.count()) +
           " us; an outage ends after it begins, both below 2^62");
    }
    edges_.push_back({outage.start, false, outage.server, outage.kind});
    if (outage.end != kNever) edges_.push_back({outage.end, true, outage.server, outage.kind});
  }
  std::sort(edges_.begin(), edges_.end(), [](const Edge& one, const Edge& other) {
    return std::tie(one.at, one.is_end, one.server) <
           std::tie(other.at, other.is_end, other.server);
  });
  num_open_.assign(static_cast<std::size_t>(cluster.num_servers()), {});
  if (!edges_.empty()) next_ = edges_.front().at;
}

}  // namespace gpusched
