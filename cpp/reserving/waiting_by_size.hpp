#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/time.hpp"
#include "reserving/ruled_out.hpp"

namespace gpusched {

/// Who waits, by width and by the power of two of its length: room that has come free finds those
/// who may fit without a look at the others.
class WaitingBySize {
 public:
  using Slot = std::int32_t;
  /// Where one stands; it moves when others leave.
  using Place = std::uint32_t;

  struct List {
    std::vector<Slot> slots;
    Time latest{0};  ///< none starts later, as starts only move up
  };
  /// Those of one width.
  struct Width {
    std::int64_t gpus;
    std::uint64_t filled = 0;        ///< which lists are not empty
    std::array<List, 64> by_length;  ///< by the power of two at or below the length
    RuledOut ruled_out;
  };

  void clear() noexcept { widths_.clear(); }
  /// All there have been, narrowest first.
  [[nodiscard]] std::vector<Width>& widths() noexcept { return widths_; }
  [[nodiscard]] Width& width(std::int64_t gpus) noexcept { return widths_[find(gpus)]; }
  [[nodiscard]] static int list_of(Time length) noexcept;

  Place add(Slot slot, std::int64_t gpus, Time length, Time start);
  /// Who takes its place now; the same if nobody does.
  Slot remove(Place place, std::int64_t gpus, Time length);

 private:
  [[nodiscard]] std::size_t find(std::int64_t gpus) const noexcept;

  std::vector<Width> widths_;
};

}  // namespace gpusched
