#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "base/ids.hpp"
#include "base/infinity.hpp"
#include "base/stop_check.hpp"
#include "elastic/elastic_jobs.hpp"
#include "solvers/growth_claims.hpp"

namespace gpusched {

/// A job that could have more GPUs of the type of which it has some.
struct Contender {
  JobId id;
  int type;
  int gpus;
  int most_gpus;
  double rate;       ///< service per time with what it has,
  double next_rate;  ///< and with one GPU more
  double work;       ///< what it has left to do
  Ref<ElasticJobs::Job> job;

  [[nodiscard]] bool gains() const noexcept { return next_rate > rate; }
  [[nodiscard]] GrowthClaim claim() const noexcept {
    if (!gains()) return kNoClaim;
    const double gain = next_rate - rate;
    return {work / rate, gain / next_rate, gain / rate};
  }
};

/// Jobs of which each could have one GPU more. Who gets it comes out of a pass over all of them, by
/// JobId, in which the one so far is compared with the next. Who had come so far is kept, so that a
/// pass begins where it may differ from the last one.
class Contest {
 public:
  /// `looks_at_all`: every pass is over all of them, which is slow and easy to read.
  void begin(bool looks_at_all) { looks_at_all_ = looks_at_all; }

  void clear() noexcept {
    contenders_.clear();
    remove_all();
  }
  void insert(const Contender& contender) {
    contenders_.push_back(contender);
    add(static_cast<std::uint32_t>(contenders_.size() - 1));
  }
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

  /// Who comes out of a pass, has one GPU more then, and claims again; null if there is nobody.
  [[nodiscard]] Contender* winner(StopCheck& stop) {
    if (looks_at_all_) return winner_of_all(kNoRival);
    pass(so_far(), stop);
    if (chain_.empty()) return nullptr;
    winner_ = chain_.back();
    chain_.pop_back();
    begin_ = winner_ + 1;
    return &contender_at(winner_);
  }
  /// As above, of a pass that begins with one who does not belong to them; null if that one wins.
  [[nodiscard]] Contender* winner_from(const GrowthClaim& first, StopCheck& stop) {
    if (looks_at_all_) return winner_of_all(first);
    if (!may_pass(all_, first)) return nullptr;
    begin_anew();
    pass(first, stop);
    if (chain_.empty()) return nullptr;
    winner_ = chain_.back();
    begin_anew();
    return &contender_at(winner_);
  }
  /// The last winner, which has changed.
  void claim_again() {
    const GrowthClaim claim = contender_at(winner_).claim();
    claims_.set(winner_, claim);
    blocks_[winner_ / kMostOfBlock].limits.add(claim);
    all_.add(claim);
    if (begin_ > 0 && claim.passes(so_far())) chain_.push_back(winner_);
  }

  /// All that were inserted since it was cleared.
  [[nodiscard]] const std::vector<Contender>& all() const noexcept { return contenders_; }

 private:
  static constexpr std::uint32_t kMostOfBlock = 128;
  static constexpr std::uint32_t kNoBlock = 0;  // the first one is nobody's next
  static constexpr std::uint32_t kMostInVain = 8;  // to find limits costs as much as some of these

  /// What none of some contenders exceeds.
  struct Limits {
    double shortest = kInfinity;
    double of_more = 0.0;
    double of_less = 0.0;

    void add(const GrowthClaim& claim) noexcept {
      shortest = std::min(shortest, claim.length);
      of_more = std::max(of_more, claim.of_more);
      of_less = std::max(of_less, claim.of_less);
    }
  };
  /// Neighbors by JobId.
  struct Block {
    std::uint32_t begin;  // in claims_ and numbers_: its own number times kMostOfBlock
    std::uint32_t end;
    std::uint32_t next;
    Limits limits;  // also of those who are gone
    std::uint32_t in_vain = 0;  // times that it was gone through, since the limits were found anew
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
  void remove_all() noexcept {
    blocks_.clear();
    order_.clear();
    all_ = {};
    begin_anew();
  }

  /// Begins at `begin_`, with one who has come so far.
  void pass(GrowthClaim last, StopCheck& stop) {
    if (blocks_.empty()) return;
    Block* block = &blocks_[begin_ > 0 ? winner_ / kMostOfBlock : 0];
    claims_.pass(last, begin_, block->end, chain_);
    std::size_t num_blocks = 1;
    while (block->next != kNoBlock) {
      block = &blocks_[block->next];
      ++num_blocks;
      if (!chain_.empty()) last = so_far();
      if (may_pass(block->limits, last)) pass_block(*block, last);
    }
    stop.count(num_blocks);
  }
  void pass_block(Block& block, const GrowthClaim& last);
  [[nodiscard]] Contender* winner_of_all(GrowthClaim so_far) noexcept;

  void add(std::uint32_t number);
  /// With room for one more.
  [[nodiscard]] std::uint32_t block_for(JobId id);
  std::uint32_t add_block(std::size_t place);
  void split(Block& lower, Block& upper) noexcept;

  bool looks_at_all_ = false;
  std::vector<Contender> contenders_;  // as they came
  GrowthClaims claims_;  // block by block
  std::vector<std::uint32_t> numbers_;  // beside them: in contenders_
  std::vector<Block> blocks_;
  std::vector<std::uint32_t> order_;  // of the blocks
  Limits all_;  // also of those who are gone
  // Of the last pass: who had come so far, one after the other, and where the next one begins.
  std::vector<std::uint32_t> chain_;
  std::uint32_t begin_ = 0;
  std::uint32_t winner_ = 0;
  std::vector<std::uint32_t> rest_;
};

}  // namespace gpusched
