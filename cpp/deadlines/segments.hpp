#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"
#include "deadlines/plan.hpp"
#include "deadlines/plan_oracle.hpp"
#include "deadlines/prices.hpp"
#include "deadlines/promise_ledger.hpp"
#include "solvers/segment_choices.hpp"

namespace gpusched {

struct PlannerOptions {
  Time slot{300'000'000};
  PriceRule prices = PriceRule::density;
  double supply = 0.5;         ///< of `market`: the part of the GPUs that sets the floor
  double market_decay = 0.98;  ///< and how much less the slot before counts
  int quanta = 640;    ///< maximum number of parts of a job's work
  int segments = 32;   ///< maximum number of parts of its window
  /// Windows begin and end with whole slots, and what slots do beyond the work is kept: as the
  /// competitive ratio is derived.
  bool whole_slots = false;
  /// Slots of a window beyond these are not looked at.
  std::int64_t max_slots = PromiseLedger::kMaxSlots - 1;
};

/// When a job may run, and the slots [first, last) that this touches.
struct PlanWindow {
  Time begin{0};
  Time end{0};
  std::int64_t first = 0;
  std::int64_t last = 0;
};

/// The remaining part of the slot when the window begins. A slot cut by the deadline is paid in
/// full: it is promised to its end.
[[nodiscard]] double share_of(const PlanWindow& window, std::int64_t slot, Time length) noexcept;

/// The slots of a window in groups (segments), with cost and work of a job's configurations in each
/// at current prices. Its constructor arguments outlive it. Keeps its memory.
class DeadlineSegments {
 public:
  DeadlineSegments(const PlannerOptions& options, const Prices& prices, const PromiseLedger& ledger)
      : options_(options), prices_(prices), ledger_(ledger) {}

  /// Sets the window, and the promises at this time, for all other calls.
  void cut(const PlanWindow& window, Time change);
  [[nodiscard]] int count() const noexcept { return static_cast<int>(segments_.size()); }
  /// By segment, then configuration; the job's whole work is `quanta`.
  void make_options(const PlanQuery& query, double quantum, int quanta);
  [[nodiscard]] std::span<const PlanOption> options() const noexcept {
    return std::span(plan_options_).first(num_options_);
  }
  /// Their costs, and the maximum quanta that they do.
  [[nodiscard]] SegmentChoices& choices() noexcept { return quanta_; }
  enum class Pruned : std::uint8_t { nothing, some, all };
  /// Takes out what no plan that costs less than `limit` could use; nothing where that is all.
  [[nodiscard]] Pruned prune(int quanta, double limit);
  /// Whether some plan might do this many ticks of service.
  [[nodiscard]] bool may_do(const PlanQuery& query, double work) const;
  /// Whether a bound says that every plan costs `limit` or more, whatever is dropped at its end.
  [[nodiscard]] bool costs_at_least(const PlanQuery& query, double work, double limit);
  /// The slots of the configuration chosen in each segment, -1 for none, in which it fits.
  void read_steps(const PlanQuery& query, std::span<const std::int32_t> choices,
                  std::vector<PlanStep>& steps) const;

 private:
  struct Segment {
    std::int64_t begin;
    std::int64_t end;
  };
  /// Of the slots of each segment, for a type: the sum of the prices, the lowest price of a tick,
  /// the minimum and maximum of unreserved GPUs. In SIMD lanes.
  struct TypeSums {
    std::vector<double> price;
    std::vector<double> least_per_tick;
    std::vector<double> fewest;
    std::vector<double> most;

    void resize(std::size_t size);
  };
  void sum_up();
  void make_options_of(std::size_t index, const PlanQuery& query, double quantum, int quanta);
  [[nodiscard]] Time begin_of(const Segment& segment) const noexcept {
    return std::max(window_.begin, options_->slot * segment.begin);
  }
  [[nodiscard]] Time end_of(const Segment& segment) const noexcept {
    return std::min(window_.end, options_->slot * segment.end);
  }
  [[nodiscard]] PlanOption option_with_gaps(const PlanQuery& query, const Segment& segment,
                                            const PlanConfiguration& c, Time pending,
                                            double quantum, int quanta) const;
  void relax(const PlanQuery& query);
  [[nodiscard]] double saved_at(double price);
  [[nodiscard]] bool has_room(const PlanConfiguration& configuration,
                              std::int64_t slot) const noexcept {
    return ledger_->promised(configuration.type, slot) + configuration.gpus <=
           prices_->gpus(configuration.type);
  }

  Ref<const PlannerOptions> options_;
  Ref<const Prices> prices_;
  Ref<const PromiseLedger> ledger_;
  PlanWindow window_;
  std::vector<Segment> segments_;
  std::vector<TypeSums> sums_;   // by type
  std::vector<double> changed_;  // by segment: quanta that a configuration does after a change
  std::vector<double> lengths_;  // of the segments within the window: ticks
  std::vector<std::int32_t> promised_;  // of one type, in each slot of the window
  std::vector<PlanOption> plan_options_;
  std::size_t num_options_ = 0;  // of these
  SegmentChoices quanta_;        // the same; what is done: quanta
  SegmentChoices whole_;         // what is done: ticks of service
  SegmentChoices parts_;  // at the lowest price of a tick, as if it could be left early
};

}  // namespace gpusched
