#include "reserving/waiting_by_size.hpp"

#include <algorithm>
#include <bit>

namespace gpusched {

void WaitingBySize::clear() noexcept {
  widths_.clear();
  alike_.clear();
  spare_.clear();
}

int WaitingBySize::list_of(Time length) noexcept {
  return 63 - std::countl_zero(static_cast<std::uint64_t>(length.count()) | 1U);
}

WaitingBySize::Width& WaitingBySize::width(std::int64_t gpus) {
  const auto found = std::lower_bound(widths_.begin(), widths_.end(), gpus,
                                      [](const Width& a, std::int64_t b) { return a.gpus < b; });
  if (found != widths_.end() && found->gpus == gpus) return *found;
  return *widths_.insert(found, Width{gpus, 0, {}, {}});
}

WaitingBySize::Place WaitingBySize::find_or_add(List& list, Time length, Time start) {
  const auto found = std::find_if(list.entries.begin(), list.entries.end(),
                                  [&](const List::Entry& each) { return each.length == length; });
  if (found != list.entries.end()) {
    found->latest = std::max(found->latest, start);
    return found->alike;
  }
  auto place = static_cast<Place>(alike_.size());
  if (spare_.empty()) {
    alike_.emplace_back();
  } else {
    place = spare_.back();
    spare_.pop_back();
  }
  alike_[place].length = length;
  alike_[place].entry = list.entries.size();
  list.entries.push_back({length, place, start});
  return place;
}

WaitingBySize::Place WaitingBySize::add(Member member, std::int64_t gpus, Time length, Time start) {
  Width& width = this->width(gpus);
  const int list = list_of(length);
  width.filled |= std::uint64_t{1} << list;
  List& those = width.by_length[static_cast<std::size_t>(list)];
  those.latest = std::max(those.latest, start);
  const Place place = find_or_add(those, length, start);
  std::vector<Member>& members = alike_[place].members;
  members.insert(std::upper_bound(members.begin(), members.end(), member), member);
  return place;
}

void WaitingBySize::remove(Place place, JobId job, std::int64_t gpus) {
  Alike& alike = alike_[place];
  alike.members.erase(std::lower_bound(alike.members.begin(), alike.members.end(), Member{job, 0}));
  if (!alike.members.empty()) return;
  Width& width = this->width(gpus);
  const int list = list_of(alike.length);
  auto& entries = width.by_length[static_cast<std::size_t>(list)].entries;
  entries[alike.entry] = entries.back();
  alike_[entries[alike.entry].alike].entry = alike.entry;
  entries.pop_back();
  if (entries.empty()) width.filled &= ~(std::uint64_t{1} << list);
  spare_.push_back(place);
}

}  // namespace gpusched
