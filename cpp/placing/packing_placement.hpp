#pragma once

#include <concepts>
#include <cstdint>

#include "base/parameters.hpp"
#include "model/allocation.hpp"
#include "placing/packing.hpp"
#include "placing/placement_parts.hpp"
#include "seams/occupancy.hpp"
#include "seams/placement.hpp"

namespace gpusched {

/// A placement that uses a packing rule for jobs with more than whole-GPU requests.
template <class Rule>
class DemandPlacement : public Placement {
 public:
  DemandPlacement() = default;
  /// For a rule with parameters.
  explicit DemandPlacement(const Parameters& parameters)
    requires std::constructible_from<Rule, const Parameters&>
      : packer_(Rule(parameters)) {}

  void begin(const PlacementSetup& setup) override { packer_.begin(setup); }
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    return free.has_demands() ? packer_.widest(free, types) : free.num_free(types);
  }
  [[nodiscard]] bool is_per_server() const override { return true; }

 protected:
  Packer<Rule> packer_;
};

/// A placement that is nothing but a rule of packing.
template <class Rule>
class PackingPlacement : public DemandPlacement<Rule> {
 public:
  using DemandPlacement<Rule>::DemandPlacement;

  bool place(const Occupancy& free, const Request& request, Allocation& out) override {
    return this->packer_.place(free, request, out);
  }
  [[nodiscard]] std::int64_t widest(const Occupancy& free, TypeMask types) const override {
    return this->packer_.widest(free, types);
  }
  [[nodiscard]] bool needs_shapes() const override { return true; }
};

}  // namespace gpusched
