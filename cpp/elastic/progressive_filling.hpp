#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "elastic/slot_usage.hpp"

namespace gpusched {

/// A width and the service per time that a job gets from it.
struct WidthRate {
  int gpus;
  double rate;
};

/// The remaining work of a job until its deadline, and its state. Times in ticks.
struct Claim {
  double work;     ///< service left
  double restart;  ///< time without progress at each change of width, the first start excepted
  double debt;     ///< what it would still have to pay of that if it kept `width`
  int width;       ///< what it holds now; 0: nothing
  bool has_run;    ///< whether its next start costs a restart
  std::int64_t deadline;
  std::span<const WidthRate> widths;  ///< ascending in both; not empty
};

/// GPUs in each slot, from slot `first` on; none after the last.
struct SlotPlan {
  /// Slots with equally many GPUs, up to the one before `end`, counted from the first.
  struct Stretch {
    std::int64_t end;
    int gpus;

    friend auto operator<=>(const Stretch&, const Stretch&) = default;
  };

  std::int64_t first = 0;
  std::vector<Stretch> stretches;

  [[nodiscard]] std::int64_t size() const noexcept {
    return stretches.empty() ? 0 : stretches.back().end;
  }
  void push(int gpus, std::int64_t slots) {
    const std::int64_t end = size() + slots;
    if (!stretches.empty() && stretches.back().gpus == gpus) {
      stretches.back().end = end;
    } else {
      stretches.push_back({end, gpus});
    }
  }
  [[nodiscard]] int at(std::int64_t slot) const noexcept {
    if (slot < first) return 0;
    const auto found = std::upper_bound(stretches.begin(), stretches.end(), slot - first,
                                        [](std::int64_t value, const Stretch& known) {
                                          return value < known.end;
                                        });
    return found == stretches.end() ? 0 : found->gpus;
  }
  /// Counted from its first slot.
  void add_to(std::vector<Taken>& taken) const;
  [[nodiscard]] int most() const noexcept {
    int gpus = 0;
    for (const Stretch& known : stretches) gpus = std::max(gpus, known.gpus);
    return gpus;
  }
};

/// Minimum satisfactory shares by progressive filling: each job in turn gets, in slots of equal
/// length, the minimum share of the GPUs left by earlier jobs that meets its deadline. In a slot
/// with fewer GPUs left it gets the largest of its widths that fits. Gu et al., ElasticFlow, ASPLOS
/// 2023, algorithm 1; restarts and a reserve for one forced move are ours.
class ProgressiveFilling {
 public:
  /// A plan that would take more slots is none.
  static constexpr std::int64_t kMaxSlots = 1 << 15;

  /// `is_slow`: slot by slot, as the slow reference.
  ProgressiveFilling(std::int64_t num_gpus, std::int64_t slot_ticks, bool is_slow)
      : num_gpus_(num_gpus), slot_ticks_(slot_ticks), is_slow_(is_slow) {}

  /// All GPUs are free from now on but for those `used`, from the present slot on; the present slot
  /// is the rest of it.
  void open(std::int64_t now, std::span<const Taken> used = {});
  /// Adds the remaining usage of an earlier plan; removes it if `sign` is -1.
  void add(const SlotPlan& plan, int sign = 1);
  /// Adds GPUs in the slots from the first one on, counted from the present one.
  void add(std::int64_t first, std::span<const Taken> gpus);
  /// Taken until the present slot ends.
  void block(std::int64_t gpus);
  /// Plans the minimum share that meets the deadline; false, with an empty plan, if there is none.
  /// `first`: smaller shares are known to fail.
  [[nodiscard]] bool find(const Claim& claim, SlotPlan& plan, std::size_t first = 0);
  /// The same, and takes it.
  bool fill(const Claim& claim, SlotPlan& plan, std::size_t first = 0);
  /// Whether some share was given up in the last `find` because its plan would take more slots than
  /// a plan may have: none may suffice all the same.
  [[nodiscard]] bool is_cut_off() const noexcept { return is_cut_off_; }
  /// The share that the last `find` planned, among the widths; the last one if it failed.
  [[nodiscard]] std::size_t share() const noexcept { return share_; }
  /// Service that the widest share that was tried in the last `find` and did not suffice leaves
  /// undone at the deadline; 0: every share that was tried sufficed.
  [[nodiscard]] double shortfall() const noexcept { return shortfall_; }
  /// Whether the plan does the work by the deadline even after losing `lost` ticks at its start.
  [[nodiscard]] bool suffices(const Claim& claim, const SlotPlan& plan, double lost) const;

  /// From the present slot on.
  [[nodiscard]] std::span<const Taken> used() const noexcept { return used_; }
  [[nodiscard]] std::int64_t free_at(std::size_t i) const noexcept {
    return num_gpus_ - (i < used_.size() ? used_[i] : 0);
  }
  [[nodiscard]] std::int64_t slot() const noexcept { return now_ / slot_ticks_; }
  /// When the present slot ends.
  [[nodiscard]] std::int64_t slot_end() const noexcept { return (slot() + 1) * slot_ticks_; }
  /// Slots from `begin` on, counted from the present one, in which the same of the widths is the widest that is free (-1: none
  /// is), at most `most`.
  [[nodiscard]] std::int64_t alike(std::int64_t begin, std::int64_t most,
                                   std::span<const WidthRate> widths, int chosen) const noexcept;
  /// Slots until then, the present one and the last among them, that a plan may have.
  [[nodiscard]] std::int64_t slots_until(std::int64_t deadline) const noexcept;
  /// GPU slots of the plan from now on.
  [[nodiscard]] std::int64_t gpu_slots(const SlotPlan& plan) const noexcept;

 private:
  [[nodiscard]] bool find_share(const Claim& claim, std::size_t share, SlotPlan& plan);
  /// Maximum that may be taken with this many GPUs free.
  [[nodiscard]] Taken most_beside(int gpus) const noexcept {
    return static_cast<Taken>(num_gpus_ - gpus);
  }

  std::int64_t num_gpus_;
  std::int64_t slot_ticks_;
  bool is_slow_;
  std::int64_t now_ = 0;
  std::vector<Taken> used_;  // from the present slot on
  bool is_cut_off_ = false;
  double shortfall_ = 0;
  std::size_t share_ = 0;
};

}  // namespace gpusched
