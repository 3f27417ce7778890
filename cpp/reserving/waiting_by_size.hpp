#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "base/time.hpp"
#include "reserving/ruled_out.hpp"

namespace gpusched {

/// Who waits, by width and by the power of two of its length: room that has come free finds those
/// who may fit without a look at the others. Those that are as wide and as long stand together.
class WaitingBySize {
 public:
  using Slot = std::int32_t;

  struct Member {
    JobId job;
    Slot slot;

    friend bool operator<(const Member& a, const Member& b) noexcept { return a.job < b.job; }
  };
  /// Those of one width and length.
  struct Alike {
    std::vector<Member> members;  ///< by JobId
    Time length{};
    std::size_t entry = 0;  ///< of its list
    JobId next = kNoJob;    ///< who is tried next of them in this pass
    bool is_later = false;  ///< some are tried in the next pass

    [[nodiscard]] std::span<const Member> after(JobId job) const noexcept {
      return {std::upper_bound(members.begin(), members.end(), Member{job, 0}), members.end()};
    }
  };
  /// Where one stands among all Alike; it stays.
  using Place = std::uint32_t;

  struct List {
    struct Entry {
      Time length;
      Place alike;
      Time latest;  ///< none of them starts later, as starts only move up
    };
    std::vector<Entry> entries;
    Time latest{0};  ///< none starts later
  };
  /// Those of one width.
  struct Width {
    std::int64_t gpus;
    std::uint64_t filled = 0;        ///< which lists are not empty
    std::array<List, 64> by_length;  ///< by the power of two at or below the length
    RuledOut ruled_out;
  };

  void clear() noexcept;
  /// All there have been, narrowest first.
  [[nodiscard]] std::vector<Width>& widths() noexcept { return widths_; }
  [[nodiscard]] Width& width(std::int64_t gpus);
  [[nodiscard]] Alike& alike(Place place) noexcept { return alike_[place]; }
  [[nodiscard]] static int list_of(Time length) noexcept;

  Place add(Member member, std::int64_t gpus, Time length, Time start);
  void remove(Place place, JobId job, std::int64_t gpus);

 private:
  [[nodiscard]] Place find_or_add(List& list, Time length, Time start);

  std::vector<Width> widths_;
  std::vector<Alike> alike_;
  std::vector<Place> spare_;  // of those without members
};

}  // namespace gpusched
