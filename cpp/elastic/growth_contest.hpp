#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "base/stop_check.hpp"
#include "base/time.hpp"
#include "elastic/elastic_jobs.hpp"
#include "seams/state.hpp"
#include "solvers/growth_claims.hpp"

namespace gpusched {

/// Cost of a GPU given, in steps of the pass: one job changes in all lines.
inline constexpr std::size_t kStepsOfGift = 100;

/// A job that could have more GPUs of its present type.
struct Contender {
  JobId id;
  int type;
  int gpus;
  int most_gpus;
  double rate;       ///< service per time with what it has,
  double next_rate;  ///< and with one GPU more
  double work;       ///< what it has left to do
  Ref<ElasticJobs::Job> job;
  bool has_grown = false;
  double pace = 0.0;  ///< how fast its time left with what it has becomes less

  [[nodiscard]] bool gains() const noexcept { return next_rate > rate; }
  [[nodiscard]] GrowthClaim claim() const noexcept {
    if (!gains()) return kNoClaim;
    const double gain = next_rate - rate;
    return {work / rate, gain / next_rate, gain / rate};
  }
  /// Its rate with one GPU more; 0 if it may not have it.
  void find_next_rate(const State& state) {
    next_rate = gpus < most_gpus ? ElasticJobs::rate(state, *job, type, gpus + 1) : 0.0;
  }
  void grow(const State& state) {
    has_grown = true;
    ++gpus;
    rate = next_rate;
    find_next_rate(state);
  }
};

/// Jobs that could each have one more GPU. A pass over all of them by JobId compares the leader
/// with the next job; the last leader gets the GPU. The chain of leaders is kept, so a pass starts
/// where it may differ from the last one.
class GrowthContest {
 public:
  /// `looks_at_all`: every pass is over all of them, which is slow and easy to read.
  void begin(bool looks_at_all) {
    looks_at_all_ = looks_at_all;
    clear();
  }

  void clear() noexcept {
    contenders_.clear();
    vacant_.clear();
    remove_all();
  }
  void insert(const Contender& contender);
  /// The others have had their last GPU.
  template <class Stays>
  void keep_those(Stays stays) {
    rest_.clear();
    for (const std::uint32_t b : order_) {
      for (std::uint32_t at = blocks_[b].begin; at < blocks_[b].end; ++at) {
        Contender& contender = contender_at(at);
        if (!stays(contender)) contender.next_rate = 0.0;
        if (contender.gains()) rest_.push_back(numbers_[at]);
      }
    }
    remove_all();
    for (const std::uint32_t number : rest_) add(number);
  }

  /// One of them leaves.
  void erase(JobId id);
  void note_pace(JobId id, double pace);
  /// Restarts the contest with all jobs as inserted, except their remaining work, which is read
  /// only for possible winners.
  void renew(const State& state);

  /// The winner of a pass, which then has one more GPU and claims again; null if there is none.
  [[nodiscard]] Contender* winner(StopCheck& stop);
  /// The same for a pass that starts with an outside claim; null if that claim wins.
  [[nodiscard]] Contender* winner_from(const GrowthClaim& first, StopCheck& stop);
  /// The last winner, which has changed.
  void claim_again();

  /// All that were inserted since it was cleared.
  [[nodiscard]] const std::vector<Contender>& all() const noexcept { return contenders_; }

 private:
  static constexpr std::uint32_t kMostOfBlock = 128;
  static constexpr std::size_t kBlocksOfGroup = 32;
  static constexpr std::uint32_t kMostInVain = 8;  // to find limits costs as much as some of these

  /// Upper bounds over some contenders.
  struct Limits {
    double shortest = kInfinity;
    double of_more = 0.0;
    double of_less = 0.0;

    void add(double length, double more, double less) noexcept {
      shortest = std::min(shortest, length);
      of_more = std::max(of_more, more);
      of_less = std::max(of_less, less);
    }
    void add(const GrowthClaim& claim) noexcept { add(claim.length, claim.of_more, claim.of_less); }
    void add(const Limits& other) noexcept { add(other.shortest, other.of_more, other.of_less); }
  };
  /// Neighbors by JobId.
  struct Block {
    std::uint32_t begin;  // in claims_ and numbers_: its own number times kMostOfBlock
    std::uint32_t end;
    std::uint32_t place = 0;  // in order_, once that is settled
    std::uint32_t in_vain = 0;  // passes without effect since the limits were computed
    Limits limits = {};  // also of removed jobs
    // State of a restart of the contest:
    bool is_stale = false;  // the claims are of an earlier time
    Time since{0};
    Limits inserted = {};  // of all as they were inserted, with the work of that time
    double pace = 0.0;  // none of their lengths has become less faster than that
  };
  /// Neighbors in order_.
  struct Group {
    std::uint32_t in_vain = 0;
    Limits limits = {};
  };

  [[nodiscard]] static bool may_pass(const Limits& limits, const GrowthClaim& so_far) noexcept {
    return limits.of_more > so_far.of_less ||
           (limits.shortest <= so_far.length && so_far.of_more <= limits.of_less);
  }
  [[nodiscard]] Contender& contender_at(std::uint32_t at) noexcept {
    return contenders_[numbers_[at]];
  }
  [[nodiscard]] GrowthClaim so_far() const noexcept {
    return chain_.empty() ? kNoRival : claims_[chain_.back()];
  }
  void begin_anew() noexcept {
    chain_.clear();
    begin_ = 0;
  }
  void remove_all() noexcept;

  /// Starts at `begin_` with the leader so far.
  void pass(GrowthClaim last, StopCheck& stop);
  void pass_claims(GrowthClaim last, std::uint32_t at, std::uint32_t end);
  void pass_group(Group& group, std::size_t first, std::size_t end, GrowthClaim last);
  void pass_block(Block& block, const GrowthClaim& last);
  [[nodiscard]] Contender* winner_of_all(GrowthClaim so_far) noexcept;

  void add(std::uint32_t number);
  [[nodiscard]] std::uint32_t place_of(const Block& block, JobId id) const;
  [[nodiscard]] std::size_t order_of(JobId id) const;
  /// With room for one more.
  [[nodiscard]] std::uint32_t block_for(JobId id);
  std::uint32_t add_block(std::size_t place);
  void split(Block& lower, Block& upper) noexcept;
  void settle_order();
  void refresh(Block& block);
  static void note_inserted(Block& block, const Contender& contender, const GrowthClaim& claim);

  bool looks_at_all_ = false;
  std::vector<Contender> contenders_;  // as they came
  std::vector<std::uint32_t> vacant_;  // of those
  std::vector<GrowthClaim> claims_;  // block by block
  std::vector<std::uint32_t> numbers_;  // parallel to these: indices into contenders_
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> vacant_blocks_;
  std::vector<std::uint32_t> order_;  // of the blocks
  std::vector<Group> groups_;
  bool is_settled_ = false;  // places and groups are those of the order
  Limits all_;  // also of removed jobs
  Ref<const State> state_;
  Time now_{0};
  // Of the last pass: its leaders in order, and where the next pass starts.
  std::vector<std::uint32_t> chain_;
  std::uint32_t begin_ = 0;
  std::uint32_t winner_ = 0;
  std::vector<std::uint32_t> rest_;
};

}  // namespace gpusched
