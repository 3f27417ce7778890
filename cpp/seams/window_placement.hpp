#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "model/outage.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// The run's placement where maintenance is known before it begins: a job whose stated length
/// reaches a window that is known by now gets no GPU of its server. A job without one may start at
/// any time. Jobs of one class have one length here, so that what is refused for one is refused for
/// all, and time alone only adds servers that a job may not use, until they close: a refusal still
/// holds until GPUs are released.
class WindowPlacement final : public Placement {
 public:
  /// The placement has begun; it and the state outlive this.
  WindowPlacement(Placement& placement, const State& state, std::span<const Outage> outages)
      : placement_(placement), state_(state) {
    declare(placement.flags());
    std::copy_if(outages.begin(), outages.end(), std::back_inserter(windows_),
                 [](const Outage& outage) { return outage.is_known_ahead(); });
    std::sort(windows_.begin(), windows_.end(),
              [](const Outage& one, const Outage& other) { return one.start < other.start; });
  }

  /// The placement as it is without windows.
  [[nodiscard]] Placement& without() const noexcept { return *placement_; }

  [[nodiscard]] WindowPlacement* windows() override { return this; }
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    return place_at(state_->now(), free, request, out);
  }
  /// For a start at an instant from now on with these free GPUs.
  bool place_at(Time at, const Occupancy& free, const Request& request, Allocation& out) {
    return placement_->place(usable(at, free, request.job), request, out);
  }
  /// The first end after `after` of a window that is known by now; kNever without one.
  [[nodiscard]] Time next_end(Time after) const {
    Time next = kNever;
    for (const Outage& window : windows_) {
      if (window.known <= state_->now() && window.end > after) next = std::min(next, window.end);
    }
    return next;
  }
  /// Opens in `free` the servers of windows that last now and will have ended by then.
  void reopen(Time at, Occupancy& free) const {
    for (const Outage& window : windows_) {
      const bool lasts = window.start <= state_->now() && state_->now() < window.end;
      if (lasts && window.end <= at) free.open(window.server);
    }
  }
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    return placement_->widest(free, types);
  }
  [[nodiscard]] bool allocation_depends_on_job() const override {
    return placement_->allocation_depends_on_job();
  }
  [[nodiscard]] bool is_per_server() const override { return placement_->is_per_server(); }
  [[nodiscard]] bool needs_shapes() const override { return placement_->needs_shapes(); }

 private:
  /// What is free but for the servers that the job's length carries into a window.
  const Occupancy& usable(Time at, const Occupancy& free, JobId job) {
    const Time end = at + state_->jobs().stated_length(job);
    bool is_less = false;
    for (const Outage& window : windows_) {
      if (window.start >= end && window.start > at) break;
      const bool is_known = window.known <= state_->now();
      if (!is_known || window.end <= at || free.free_gpus(window.server) == 0) continue;
      if (!is_less) left_ = free;
      is_less = true;
      left_->close(window.server);
    }
    return is_less ? *left_ : free;
  }

  Ref<Placement> placement_;
  Ref<const State> state_;
  std::vector<Outage> windows_;  // by start
  std::optional<Occupancy> left_;
};

}  // namespace gpusched
