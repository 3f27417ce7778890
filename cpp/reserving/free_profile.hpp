#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"

namespace gpusched {

/// Free GPUs from now on, as steps in time: a sorted list in blocks, each with the least and the
/// greatest level that it reaches, so that a search passes over blocks that decide nothing.
class FreeProfile {
 public:
  /// All GPUs are free, at all times from 0 on.
  void reset(std::int64_t num_gpus);

  /// What lies before `now` is over.
  void advance(Time now);
  /// Takes GPUs from `begin` until `end`, a later instant; a negative number gives them back. What
  /// lies before the present is left out.
  void take(Time begin, Time end, std::int64_t gpus);

  /// Takes GPUs from now on for so long, whenever now is; a negative number gives them back.
  void slide(Time length, std::int64_t gpus);

  /// The first instant from now on with `gpus` free for `length`. There must be one.
  [[nodiscard]] Time earliest(Time length, std::int64_t gpus) const;

  /// A search that goes on where another has been.
  struct Search {
    std::int64_t gpus;
    Time length;
    Time from;   ///< fewer than `gpus` are free just before, or it is now
    Time limit;  ///< after now: nothing from here on is looked at
  };
  /// The first instant with as many free for so long or until the limit; the limit if none.
  [[nodiscard]] Time search(const Search& search) const;

  /// Free GPUs just before an instant after now.
  [[nodiscard]] std::int64_t free_before(Time at) const;

 private:
  struct Step {
    Time at;
    std::int64_t change;
  };
  static constexpr int kCapacity = 64;
  /// Levels count from that before the block, and are found when one asks.
  struct Block {
    int size = 0;
    bool is_added_up = false;
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    std::array<Step, kCapacity> steps;

    void add_up() noexcept;
  };

  /// Where a walk over the steps has come to, and what is free there.
  class Walk {
   public:
    /// At `from`, whose own steps are taken or are still to come.
    Walk(const FreeProfile& profile, Time from, bool takes_own);

    [[nodiscard]] std::int64_t level() const noexcept { return level_; }
    [[nodiscard]] Time search(const Search& search);

   private:
    void change(Time at, std::int64_t by);
    [[nodiscard]] bool passes_over(Block& block, Time last);
    [[nodiscard]] bool is_found(Time at) const noexcept {
      return start_ != kNever && at >= start_ + search_.length;
    }
    [[nodiscard]] Time sliding_at() const noexcept { return profile_.now_ + sliding_->at; }

    const FreeProfile& profile_;
    std::int64_t level_;
    std::size_t block_ = 0;
    std::size_t step_ = 0;
    std::vector<Step>::const_iterator sliding_;
    Search search_{};
    Time start_ = kNever;  // since when enough are free
  };

  void add(Time at, std::int64_t change);
  void split(std::size_t at);

  Time now_{0};
  std::int64_t level_ = 0;  // now
  std::vector<Boxed<Block>> blocks_;
  std::vector<Time> lasts_;
  std::vector<std::int64_t> sums_;
  // By length; what these take they only give back as time goes on.
  std::vector<Step> sliding_;
  std::int64_t num_sliding_ = 0;
};

}  // namespace gpusched
