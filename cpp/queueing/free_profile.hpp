#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clone.hpp"
#include "base/time.hpp"

namespace gpusched {

/// Free GPUs from now on, as a step function: a sorted list in blocks, each with its lowest and
/// highest level, so that a search skips irrelevant blocks.
class FreeProfile {
 public:
  /// All GPUs are free, at all times from 0 on.
  void reset(std::int64_t num_gpus);

  /// Drops everything before `now`.
  void advance(Time now);
  /// Call before any query; until then the profile may overstate free GPUs.
  void move_sliding();
  /// Whether that would change what is free between two instants.
  [[nodiscard]] bool is_behind(Time begin, Time end) const noexcept;
  [[nodiscard]] Time now() const noexcept { return now_; }

  /// Takes GPUs from `begin` until `end`, a later instant; a negative number gives them back. What
  /// lies before the present is left out.
  void take(Time begin, Time end, std::int64_t gpus);

  /// Takes GPUs from now on for so long, whenever now is; a negative number gives them back.
  void slide(Time length, std::int64_t gpus);

  /// The first instant from now on with `gpus` free for `length`. There must be one.
  [[nodiscard]] Time earliest(Time length, std::int64_t gpus) const;

  /// A search that continues from an earlier one.
  struct Search {
    std::int64_t gpus;
    Time length;
    Time from;   ///< fewer than `gpus` are free just before, or it is now
    Time limit;  ///< after now: nothing from here on is looked at
  };
  /// The first instant with enough GPUs free for long enough or until the limit; else the limit.
  [[nodiscard]] Time search(const Search& search) const;

  /// The start of the interval with enough free GPUs that ends at `until`; `until` if there are
  /// fewer just before.
  [[nodiscard]] Time free_since(Time until, std::int64_t gpus) const;
  /// Whether more are taken than there are, somewhere between two instants from the next tick on.
  [[nodiscard]] bool is_overdrawn(Time begin, Time end) const {
    return begin < overdrawn_ && search({0, end - begin, begin, kNever}) != begin;
  }

 private:
  static constexpr int kCapacity = 64;
  struct Block {
    int size = 0;
    std::array<Time, kCapacity> at{};
    std::array<std::int64_t, kCapacity> levels{};  // less what is added to the whole block

    /// How many of its steps are at or before an instant; at least 1 is taken to be.
    [[nodiscard]] int count_until(Time instant) const noexcept;
    /// Copies steps of a block to a place from which on there is room for them.
    void copy(const Block& from, int begin, int end, int to) noexcept;
  };
  /// The summary with which a search skips a block; computed on demand.
  struct Summary {
    std::int64_t added = 0;  // to the level of each step
    std::int64_t least = 0;  // of the levels, with what is added
    std::int64_t greatest = 0;
    bool is_known = false;
  };
  struct Place {
    std::size_t block;
    int step;
  };

 public:
  /// A walk over the steps, as long as nothing changes.
  class Walk {
   public:
    Walk(const FreeProfile& profile, Time from) noexcept
        : profile_(&profile), place_(profile.find(from)) {
      enter();
    }

    [[nodiscard]] Time at() const noexcept {
      return block_->at[static_cast<std::size_t>(place_.step)];
    }
    /// Free GPUs from this step until the next.
    [[nodiscard]] std::int64_t level() const noexcept {
      return block_->levels[static_cast<std::size_t>(place_.step)] + added_;
    }

    /// False at the last step.
    bool next() noexcept {
      if (++place_.step < block_->size) return true;
      if (place_.block + 1 == profile_->blocks_.size()) return false;
      place_ = {place_.block + 1, 0};
      enter();
      return true;
    }

   private:
    void enter() noexcept {
      block_ = profile_->blocks_[place_.block].get();
      added_ = profile_->summaries_[place_.block].added;
    }

    const FreeProfile* profile_;
    Place place_;
    const Block* block_ = nullptr;
    std::int64_t added_ = 0;
  };

 private:
  /// Its level, less what is added to the whole block.
  [[nodiscard]] std::int64_t& own_level(Place place) const noexcept {
    return blocks_[place.block]->levels[static_cast<std::size_t>(place.step)];
  }
  [[nodiscard]] Time& at(Place place) const noexcept {
    return blocks_[place.block]->at[static_cast<std::size_t>(place.step)];
  }
  [[nodiscard]] std::int64_t level(Place place) const noexcept {
    return own_level(place) + summaries_[place.block].added;
  }
  /// The last step at or before an instant from now on.
  [[nodiscard]] Place find(Time at) const noexcept;
  /// A step at this instant, which may be one that changes nothing.
  Place put(Time instant);
  Place split(Place place);
  void erase(std::size_t begin, std::size_t end);
  /// Moves what takes GPUs until `from` on to a later instant.
  void extend(Time from, Time to, std::int64_t gpus);
  /// Drops a step that changes nothing.
  void tidy(Place place);
  void add_up(std::size_t block) const noexcept;

  Time now_{0};
  std::vector<Boxed<Block>> blocks_;
  std::vector<Time> firsts_;  // of each block
  mutable std::vector<Summary> summaries_;
  /// Reservations from now on, by length; over time they only release GPUs.
  struct Sliding {
    Time length;
    std::int64_t gpus;
    Time since;  // as if they had begun there
  };
  std::vector<Sliding> sliding_;
  Time slid_{0};       // when all were moved; none is behind that
  Time overdrawn_{0};  // no reservation exceeds the free GPUs from here on
  mutable std::size_t last_ = 0;  // the block found last: mostly the next is there
};

}  // namespace gpusched
