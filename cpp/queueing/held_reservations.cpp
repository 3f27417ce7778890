#include "queueing/held_reservations.hpp"

#include <algorithm>

namespace gpusched {

Time NoFitCache::until(Time length) const {
  const auto longer =
      std::upper_bound(entries_.begin(), entries_.end(), length,
                       [](Time value, const Entry& each) { return value < each.length; });
  return longer == entries_.begin() ? Time{0} : (longer - 1)->until;
}

void NoFitCache::rule_out(Time length, Time until) {
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

void NoFitCache::give_back(Time begin, Time end) {
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

void HeldReservations::begin(std::int64_t num_gpus, bool takes_out) {
  profile_.reset(num_gpus);
  takes_out_ = takes_out;
  held_.clear();
  starts_.clear();
  widths_.clear();
}

NoFitCache& HeldReservations::no_fit(std::int64_t gpus) {
  const auto found = std::lower_bound(widths_.begin(), widths_.end(), gpus,
                                      [](const Width& a, std::int64_t b) { return a.gpus < b; });
  if (found != widths_.end() && found->gpus == gpus) return found->no_fit;
  return widths_.insert(found, Width{gpus, {}})->no_fit;
}

void HeldReservations::add(JobId job, std::int32_t gpus, Time length) {
  Time at = first_fit(gpus, length);
  if (profile_.is_behind(at, at + length)) {
    profile_.move_sliding();
    at = first_fit(gpus, length);
  }
  profile_.take(at, at + length, gpus);
  held_.emplace(job, Held{job, gpus, at, length});
  starts_.emplace(at, job);
}

std::span<const HeldReservations::Held> HeldReservations::pop() {
  popped_.clear();
  for (const Time first = this->first(); !starts_.empty() && starts_.begin()->first == first;) {
    const auto held = held_.find(starts_.begin()->second);
    popped_.push_back(held->second);
    held_.erase(held);
    starts_.erase(starts_.begin());
  }
  return popped_;
}

void HeldReservations::withdraw(JobId job) {
  const auto found = held_.find(job);
  const Held held = found->second;
  held_.erase(found);
  starts_.erase({held.at, job});
  give_back(held.at, held.at + held.length, held.gpus);
}

void HeldReservations::stop_sliding(Time length, std::int64_t gpus) {
  const Time now = profile_.now();
  profile_.slide(length, -gpus);
  profile_.take(now, now + length, gpus);
  give_back(now, now + length, gpus);
}

void HeldReservations::give_back(Time begin, Time end, std::int64_t gpus) {
  if (end <= profile_.now() || gpus == 0) return;
  profile_.take(begin, end, -gpus);
  if (takes_out_) return;
  begin = std::max(begin, profile_.now());
  for (Width& width : widths_) find_room(width, begin, end, gpus);
}

void HeldReservations::find_room(Width& width, Time begin, Time end, std::int64_t gpus) {
  Time since = kNever;  // since then enough GPUs are free
  bool is_new = false;
  FreeProfile::Walk walk(profile_, begin);
  do {
    const Time at = std::max(walk.at(), begin);
    const bool is_free = walk.level() >= width.gpus;
    if (is_free && since == kNever) {
      const bool may_begin_before = at == begin && at > profile_.now();
      since = may_begin_before ? profile_.free_since(at, width.gpus) : at;
    } else if (!is_free) {
      if (is_new) width.no_fit.give_back(since, at);
      since = kNever;
      is_new = false;
    }
    if (at < end) {
      is_new = is_new || (is_free && walk.level() - gpus < width.gpus);
    } else if (!is_new) {
      return;
    }
  } while (walk.next());
  if (is_new) width.no_fit.give_back(since, kNever);
}

void HeldReservations::move_up(const RunControl& control) {
  profile_.move_sliding();
  for (auto& [job, held] : held_) {
    control.check();
    const Time to = earliest_fit(held);
    if (to < held.at) move(held, to);
  }
}

Time HeldReservations::earliest_fit(const Held& held) {
  if (takes_out_) {
    profile_.take(held.at, held.at + held.length, -held.gpus);
    const Time at = profile_.earliest(held.length, held.gpus);
    profile_.take(held.at, held.at + held.length, held.gpus);
    return at;
  }
  NoFitCache& no_fit = this->no_fit(held.gpus);
  const Time from = std::max(profile_.now(), no_fit.until(held.length));
  Time to = held.at;
  if (from < held.at) {
    to = search(no_fit, {held.gpus, held.length, from, held.at});
  } else if (held.at > profile_.now()) {
    to = profile_.free_since(held.at, held.gpus);
  }
  const Time end = to + held.length;
  if (to == held.at || end <= held.at) return to;
  // Later it uses its own reservation: enough unless the profile is overdrawn.
  return profile_.is_overdrawn(held.at, end) ? held.at : to;
}

Time HeldReservations::first_fit(std::int64_t gpus, Time length) {
  if (takes_out_) return profile_.earliest(length, gpus);
  NoFitCache& no_fit = this->no_fit(gpus);
  return search(no_fit, {gpus, length, no_fit.until(length), kNever});
}

Time HeldReservations::search(NoFitCache& no_fit, FreeProfile::Search search) {
  // The gap found there may have grown to the front since.
  search.from =
      search.from > profile_.now() ? profile_.free_since(search.from, search.gpus) : profile_.now();
  const Time found = profile_.search(search);
  no_fit.rule_out(search.length, found);
  return found;
}

void HeldReservations::move(Held& held, Time to) {
  const Time before = held.at;
  starts_.erase({before, held.job});
  held.at = to;
  profile_.take(to, std::min(to + held.length, before), held.gpus);
  starts_.emplace(to, held.job);
  give_back(std::max(before, to + held.length), before + held.length, held.gpus);
}

}  // namespace gpusched
