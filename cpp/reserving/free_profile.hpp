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
  struct Block {
    int size = 0;
    std::array<Step, kCapacity> steps;
  };
  /// What a search must know to pass over a block. Levels count from that before it, and are found
  /// when one asks.
  struct Summary {
    Time last{0};
    std::int64_t sum = 0;
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    bool is_added_up = false;

    void add_up(const Block& block) noexcept;
  };

  /// Where a walk over the steps stands, and what is free there.
  struct Place {
    std::size_t block = 0;
    std::size_t step = 0;
    std::vector<Step>::const_iterator sliding;
    std::int64_t level;
  };
  /// At `from`, whose own steps are taken or are still to come.
  [[nodiscard]] Place seek(Time from, bool takes_own) const;
  void add(Time at, std::int64_t change);
  void split(std::size_t at);

  Time now_{0};
  std::int64_t level_ = 0;  // now
  std::vector<Boxed<Block>> blocks_;
  mutable std::vector<Summary> summaries_;  // of each block
  // By length; what these take they only give back as time goes on.
  std::vector<Step> sliding_;
  std::int64_t num_sliding_ = 0;
};

}  // namespace gpusched
