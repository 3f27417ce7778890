#include "reserving/ruled_out.hpp"

#include <algorithm>

namespace gpusched {

Time RuledOut::until(Time length) const {
  const auto longer =
      std::upper_bound(entries_.begin(), entries_.end(), length,
                       [](Time value, const Entry& each) { return value < each.length; });
  return longer == entries_.begin() ? Time{0} : (longer - 1)->until;
}

void RuledOut::rule_out(Time length, Time until) {
  const auto place =
      std::lower_bound(entries_.begin(), entries_.end(), length,
                       [](const Entry& each, Time value) { return each.length < value; });
  if (place != entries_.begin() && (place - 1)->until >= until) return;
  auto end = place;
  while (end != entries_.end() && end->until <= until) ++end;
  if (place == end) {
    if (end == entries_.end() || end->length > length) entries_.insert(place, {length, until});
  } else {
    *place = {length, until};
    entries_.erase(place + 1, end);
  }
}

void RuledOut::give_back(Time begin, Time end) {
  const auto first =
      std::upper_bound(entries_.begin(), entries_.end(), begin,
                       [](Time value, const Entry& each) { return value < each.until; });
  auto last = first;
  while (last != entries_.end() && last->length <= end - begin) ++last;
  if (first == last) return;
  const bool is_said = first != entries_.begin() && (first - 1)->until == begin;
  if (!is_said) first->until = begin;
  entries_.erase(is_said ? first : first + 1, last);
}

}  // namespace gpusched
