#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "elastic/plan_shift.hpp"
#include "elastic/progressive_filling.hpp"

namespace gpusched {

/// Plans of newcomers that made some claim of a line fail. The same plan ahead of the first claim
/// that it displaces fails again.
class RefusalCache {
 public:
  /// Keys of claims.
  struct Refusal {
    double newcomer;
    double pushed;  ///< the first that changed its plan, or failed
    double failed;  ///< the one that could not be planned
  };

  void clear() noexcept;
  /// One is kept for each plan. All plans of a line begin with the same slot.
  void add(const SlotPlan& plan, const Refusal& refusal);
  /// Whether a newcomer with that plan is refused for a reason known already.
  [[nodiscard]] bool has(const SlotPlan& plan, double key) const;
  /// A claim joined behind those with its key or a lesser one: nothing changes before it.
  void forget_behind(double key);

 private:
  using ByPlan = std::map<std::vector<SlotPlan::Stretch>, Refusal>;

  ByPlan by_plan_;
  std::multimap<double, ByPlan::iterator> by_failed_;
};

/// Claims in the order of progressive filling, with the plans that a complete replanning would give
/// them, so that one more claim costs only the plans that it changes. GPUs taken before a claim are
/// stored per block; a claim certainly keeps its plan if no width fits that did not fit before, and
/// every width that it used or might have used still fits.
class ReservedTimeline {
 public:
  static constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

  /// A joined claim and its plan. Both outlive the line.
  struct Member {
    const Claim* claim = nullptr;
    SlotPlan* standing = nullptr;
    double key = 0.0;  ///< ascending; behind those with an equal one
  };

  /// `is_slow`: as the slow reference.
  ReservedTimeline(std::int64_t num_gpus, std::int64_t slot_ticks, bool is_slow)
      : num_gpus_(num_gpus),
        slot_ticks_(slot_ticks),
        is_slow_(is_slow),
        standing_(num_gpus, slot_ticks, is_slow),
        filling_(num_gpus, slot_ticks, is_slow) {}

  /// Whether it has members, or has none at this instant.
  [[nodiscard]] bool is_open() const noexcept { return is_open_; }
  /// Members in order; `blocked` GPUs are taken until the present slot ends.
  void open(std::int64_t now, std::int64_t blocked, std::span<const Member> members);
  void close() noexcept;

  /// Whether the claim could join with a plan of less than `limit` GPU slots: with all others
  /// replanned, or else around the existing plans. Valid until the next call of any of these.
  [[nodiscard]] bool try_join(const Claim& claim, double key, std::int64_t limit = kNoLimit);
  /// The plan of the last claim that could.
  [[nodiscard]] const SlotPlan& plan() const noexcept { return plan_; }
  /// Adds the last tried claim with its plan, and sets the plans of the others as found.
  void join(const Member& member);

 private:
  enum class Outcome : std::uint8_t { planned, failed, unknown };
  struct Entry {
    Member member;
    SlotPlan plan{};  ///< if all are replanned: of those before the first failure
    Outcome outcome = Outcome::unknown;
    std::size_t share = 0;  ///< no width beyond it was looked for
    /// Lower bound on the work that the widest insufficient share leaves undone by the deadline. 0:
    /// none was tried.
    double shortfall = 0;

    /// Where changes cost something less may be more.
    [[nodiscard]] bool is_free_to_change() const noexcept {
      return member.claim->restart == 0 && member.claim->debt == 0;
    }
    /// Whether it keeps its plan where less is free, as long as all that it has is: it takes what
    /// is widest, and what fails fails with less.
    [[nodiscard]] bool is_monotone() const noexcept {
      return shortfall == 0 || is_free_to_change();
    }
    /// Shares that did not suffice or could not.
    [[nodiscard]] std::size_t num_failed() const noexcept {
      return outcome == Outcome::failed ? member.claim->widths.size() : share;
    }
  };
  struct Block {
    std::vector<Taken> before;  ///< taken from the present slot on, by all entries before
    std::vector<Entry> entries;
    std::int64_t slots = 0;  ///< until the last deadline
    int most = 0;  ///< of the widths that its claims look for
    int least = 0;
    bool is_monotone = true;  ///< all its entries are
  };
  struct Place {
    std::size_t block = 0;
    std::size_t index = 0;
  };
  struct Change {
    Place place;
    Entry entry;
  };

  [[nodiscard]] Place place_of(double key) const;
  [[nodiscard]] bool is_planned_before(const Place& place) const;
  [[nodiscard]] bool plan_own(const Claim& claim);
  [[nodiscard]] bool stands_beside(const Claim& claim, std::int64_t limit);
  [[nodiscard]] bool replan_all(const Claim& claim);
  [[nodiscard]] bool replan_others(const Claim& claim);
  [[nodiscard]] bool push_others(const Claim& claim);
  [[nodiscard]] bool note_refusal(const Entry& failed);
  [[nodiscard]] bool is_unchanged(std::size_t block) const;
  [[nodiscard]] bool is_unchanged(const Entry& entry) const;
  [[nodiscard]] bool chooses_as_planned(const Entry& entry) const;
  [[nodiscard]] bool fits_as_planned(const Entry& entry) const;
  [[nodiscard]] bool is_unchanged_at(const Entry& entry, int gpus, std::int64_t slot) const;
  void fill(const Claim& claim, Entry& entry, std::size_t first = 0);
  void refill(const Entry& before, Entry& entry);
  [[nodiscard]] double gained(const Claim& claim, std::size_t num_widths, std::int64_t begin) const;
  void come_to(const Place& place, std::int64_t slots);
  void apply(const Member& member);
  void insert(const Member& member);
  void forget_from(Place place);
  void split(std::size_t block);
  void describe(Block& block) const;
  void open_filling();
  void fill_all();

  std::int64_t num_gpus_;
  std::int64_t slot_ticks_;
  bool is_slow_;
  ProgressiveFilling standing_;  // the usage of the existing plans
  ProgressiveFilling filling_;
  std::int64_t now_ = 0;
  std::int64_t blocked_ = 0;
  bool is_open_ = false;
  bool stands_as_filled_ = false;  // the standing plans are those of the entries
  std::vector<Block> blocks_;  // never empty while open; after the last: `all_`
  std::vector<Taken> all_;  // taken by all entries, if all are planned

  // The last claim that tried to join.
  Place place_;
  SlotPlan plan_;
  Entry own_;
  bool is_replanned_ = false;
  bool is_refused_as_before_ = false;  // the claims behind were not examined
  bool must_refill_ = false;
  std::vector<Change> changes_;
  PlanShift shift_;
  RefusalCache refusals_;
};

}  // namespace gpusched
