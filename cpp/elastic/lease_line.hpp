#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "elastic/plan_shift.hpp"
#include "elastic/progressive_filling.hpp"
#include "elastic/slot_usage.hpp"

namespace gpusched {

/// Claims to leases that are planned in order, each on the latest leases with room before its end.
/// One more claim costs only the plans that it changes: usage before a claim is stored per block.
class LeaseLine {
 public:
  struct Claim {
    int gpus;
    std::int64_t leases;
    std::int64_t until;  ///< in the leases before this one; they are counted from 0
  };

  /// `taken`: GPUs that are not to be had, by lease. `claims`: in the order in which they are
  /// planned; none has joined. Takes memory for all leases before the last end.
  LeaseLine(std::int64_t num_gpus, std::span<const Taken> taken, std::vector<Claim> claims);

  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }
  /// Whether the claim could have leases together with all that joined before; it joins then.
  bool try_join(std::size_t place);

 private:
  // Slots are leases from the last one back.
  struct Entry {
    Claim claim;
    SlotPlan plan;
    bool has_joined = false;
  };
  struct Block {
    std::vector<Taken> before;  ///< by all in the blocks before
    std::size_t num_joined = 0;
    int least = 0;  ///< of the widths of its claims
    int most = 0;
  };
  struct Change {
    std::size_t place;
    SlotPlan plan;
  };

  [[nodiscard]] bool replan(std::size_t place);
  void commit();
  [[nodiscard]] bool find(const Claim& claim, SlotPlan& plan) const;
  [[nodiscard]] bool fits_beside_all(const SlotPlan& plan) const;
  [[nodiscard]] bool keeps(std::size_t block) const;
  [[nodiscard]] bool keeps(const Entry& entry) const;
  [[nodiscard]] std::int64_t first(const Claim& claim) const noexcept {
    return num_leases_ - claim.until;
  }

  Taken num_gpus_;
  std::int64_t num_leases_ = 0;
  std::size_t in_block_;
  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  std::vector<Taken> all_;
  // Of the claim that tries to join.
  std::vector<Taken> taken_;
  std::vector<Change> changes_;
  PlanShift shift_;
};

}  // namespace gpusched
