#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/clone.hpp"
#include "model/cluster.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// A placement on servers with GPUs of several types: a job gets GPUs of one type, the first in the
/// order of types for which the placement accepts it.
class OneType final : public Placement {
 public:
  explicit OneType(Owned<Placement> placement) : placement_(std::move(placement)) {
    declare(placement_->flags());
  }

  void begin(const PlacementSetup& setup) override { placement_->begin(setup); }
  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    Request one = request;
    for (TypeMask rest = request.types; rest != 0; rest &= rest - 1) {
      one.types = rest & -rest;
      if (placement_->place(free, one, out)) return true;
    }
    return false;
  }
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    std::int64_t widest = 0;
    for (TypeMask rest = types; rest != 0; rest &= rest - 1) {
      widest = std::max(widest, placement_->widest(free, rest & -rest));
    }
    return widest;
  }
  [[nodiscard]] bool allocation_depends_on_job() const override {
    return placement_->allocation_depends_on_job();
  }
  [[nodiscard]] bool needs_shapes() const override { return placement_->needs_shapes(); }

 private:
  Owned<Placement> placement_;
};

/// The placement as it places on this cluster.
[[nodiscard]] inline Owned<Placement> on_cluster(Owned<Placement> placement,
                                                 const Cluster& cluster) {
  if (!cluster.has_parts() || placement->is_pooled()) return placement;
  return std::make_unique<OneType>(std::move(placement));
}

}  // namespace gpusched
