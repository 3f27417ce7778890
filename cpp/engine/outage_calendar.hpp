#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/cluster.hpp"
#include "model/outage.hpp"

namespace gpusched {

/// When servers go down and come back: the outages of a run in the order in which they begin and
/// end. Those of one server may overlap.
class OutageCalendar {
 public:
  enum class Turn : std::uint8_t { closes, fails, is_maintained, opens };

  /// Throws InvalidInput that names the row.
  void begin(std::span<const Outage> outages, const Cluster& cluster);

  /// Whether there were outages, and none begins or ends any more.
  [[nodiscard]] bool is_over() const noexcept { return at_ > 0 && at_ == edges_.size(); }
  /// The next instant at which an outage begins or ends; kNever if there is none.
  [[nodiscard]] Time next() const noexcept { return next_; }
  /// Visits what happens now to the servers, beginnings first: visit(server, turn). A server that
  /// fails or is maintained was open, or closed; it has closed before.
  template <class Visit>
  void take(Time now, Visit visit) {
    for (; at_ < edges_.size() && edges_[at_].at == now; ++at_) {
      const Edge& edge = edges_[at_];
      auto& open = num_open_[static_cast<std::size_t>(edge.server)];
      const int before = std::accumulate(open.begin(), open.end(), 0);
      const int of_kind = open[edge.kind];
      open[edge.kind] += edge.is_end ? -1 : 1;
      if (!edge.is_end && before == 0) visit(edge.server, Turn::closes);
      if (!edge.is_end && edge.kind != Outage::drain && of_kind == 0) {
        visit(edge.server, edge.kind == Outage::fail ? Turn::fails : Turn::is_maintained);
      }
      if (edge.is_end && before == 1) visit(edge.server, Turn::opens);
    }
    next_ = at_ < edges_.size() ? edges_[at_].at : kNever;
  }

 private:
  struct Edge {
    Time at;
    bool is_end;
    ServerId server;
    Outage::Kind kind;
  };

  std::vector<Edge> edges_;
  std::size_t at_ = 0;
  Time next_ = kNever;
  std::vector<std::array<int, Outage::kNumKinds>> num_open_;  // of each server and kind
};

}  // namespace gpusched
