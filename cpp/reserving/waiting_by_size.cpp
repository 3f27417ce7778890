#include "reserving/waiting_by_size.hpp"

#include <algorithm>
#include <bit>

namespace gpusched {

int WaitingBySize::list_of(Time length) noexcept {
  return 63 - std::countl_zero(static_cast<std::uint64_t>(length.count()) | 1U);
}

std::size_t WaitingBySize::find(std::int64_t gpus) const noexcept {
  const auto found = std::lower_bound(widths_.begin(), widths_.end(), gpus,
                                      [](const Width& a, std::int64_t b) { return a.gpus < b; });
  return static_cast<std::size_t>(found - widths_.begin());
}

WaitingBySize::Place WaitingBySize::add(Slot slot, std::int64_t gpus, Time length, Time start) {
  const std::size_t at = find(gpus);
  if (at == widths_.size() || widths_[at].gpus != gpus) {
    widths_.insert(widths_.begin() + static_cast<std::ptrdiff_t>(at), Width{gpus, 0, {}, {}});
  }
  Width& width = widths_[at];
  const int list = list_of(length);
  width.filled |= std::uint64_t{1} << list;
  List& those = width.by_length[static_cast<std::size_t>(list)];
  those.latest = std::max(those.latest, start);
  those.slots.push_back(slot);
  return static_cast<Place>(those.slots.size() - 1);
}

WaitingBySize::Slot WaitingBySize::remove(Place place, std::int64_t gpus, Time length) {
  Width& width = widths_[find(gpus)];
  const int list = list_of(length);
  auto& slots = width.by_length[static_cast<std::size_t>(list)].slots;
  const Slot last = slots.back();
  slots[place] = last;
  slots.pop_back();
  if (slots.empty()) width.filled &= ~(std::uint64_t{1} << list);
  return last;
}

}  // namespace gpusched
