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

 private:
  struct Step {
    Time at;
    std::int64_t change;
  };
  static constexpr int kCapacity = 64;
  /// Levels count from that before the block.
  struct Block {
    int size = 0;
    std::int64_t sum = 0;
    std::int64_t least = 0;
    std::int64_t greatest = 0;
    std::array<Step, kCapacity> steps;

    void add_up() noexcept;
  };

  void add(Time at, std::int64_t change);
  void split(std::size_t at);

  Time now_{0};
  std::int64_t level_ = 0;  // now
  std::vector<Boxed<Block>> blocks_;
  std::vector<Time> lasts_;
  // By length; what these take they only give back as time goes on.
  std::vector<Step> sliding_;
  std::int64_t num_sliding_ = 0;
};

}  // namespace gpusched
