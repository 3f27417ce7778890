#include "reserving/held_reservations.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace gpusched {
namespace {

constexpr WaitingBySize::Slot kNone = FreeProfile::Starts::kNone;

}  // namespace

void HeldReservations::begin(std::int64_t num_gpus, bool looks_at_all) {
  profile_.reset(num_gpus);
  looks_at_all_ = looks_at_all;
  slots_.clear();
  spare_.clear();
  slot_of_.clear();
  num_held_ = 0;
  sizes_.clear();
  candidates_.clear();
  later_.clear();
  alike_later_.clear();
  passed_ = kNoJob;
}

void HeldReservations::add(JobId job, std::int32_t gpus, Time length) {
  Slot slot = static_cast<Slot>(slots_.size());
  if (spare_.empty()) {
    slots_.emplace_back();
  } else {
    slot = spare_.back();
    spare_.pop_back();
  }
  Time from = first_fit(gpus, length);
  if (profile_.is_behind(from, from + length)) {
    profile_.move_sliding();
    from = first_fit(gpus, length);
  }
  profile_.take(from, from + length, gpus);
  Waiting& waiting = at(slot);
  waiting = {.held = {job, gpus, from, length},
             .alike = sizes_.add({job, slot}, gpus, length, from)};
  if (job >= slot_of_.size()) slot_of_.resize(std::size_t{job} + 1, kNone);
  slot_of_[job] = slot;
  enter(slot);
  ++num_held_;
}

void HeldReservations::enter(Slot slot) {
  Waiting& waiting = at(slot);
  FreeProfile::Starts& starts = profile_.starts_at(waiting.held.at);
  waiting.previous = kNone;
  waiting.next = starts.first;
  if (starts.first != kNone) at(starts.first).previous = slot;
  starts = {slot, std::min(starts.narrowest, waiting.held.gpus)};
}

void HeldReservations::leave(Slot slot) {
  const Waiting& waiting = at(slot);
  FreeProfile::Starts& starts = profile_.starts_at(waiting.held.at);
  if (waiting.next != kNone) at(waiting.next).previous = waiting.previous;
  (waiting.previous != kNone ? at(waiting.previous).next : starts.first) = waiting.next;
  if (starts.narrowest < waiting.held.gpus) return;
  starts.narrowest = FreeProfile::Starts::kNobody;
  for (Slot other = starts.first; other != kNone; other = at(other).next) {
    starts.narrowest = std::min(starts.narrowest, at(other).held.gpus);
    if (starts.narrowest == waiting.held.gpus) break;
  }
}

void HeldReservations::drop(Slot slot) {
  Waiting& waiting = at(slot);
  sizes_.remove(waiting.alike, waiting.held.job, waiting.held.gpus);
  waiting.held.job = kNoJob;
  spare_.push_back(slot);
  --num_held_;
}

std::span<const HeldReservations::Held> HeldReservations::pop() {
  const Time first = profile_.first_start();
  popped_.clear();
  Slot slot = std::exchange(profile_.starts_at(first), {}).first;
  while (slot != kNone) {
    popped_.push_back(at(slot).held);
    const Slot next = at(slot).next;
    drop(slot);
    slot = next;
  }
  std::sort(popped_.begin(), popped_.end(),
            [](const Held& a, const Held& b) { return a.job < b.job; });
  return popped_;
}

void HeldReservations::withdraw(JobId job) {
  const Slot slot = slot_of_[job];
  const Held held = at(slot).held;
  leave(slot);
  drop(slot);
  give_back(held.at, held.at + held.length, held.gpus);
}

void HeldReservations::stop_sliding(Time length, std::int64_t gpus) {
  const Time now = profile_.now();
  profile_.slide(length, -gpus);
  profile_.take(now, now + length, gpus);
  give_back(now, now + length, gpus);
}

void HeldReservations::list(Slot slot) {
  if (at(slot).is_listed) return;
  const JobId job = at(slot).held.job;
  if (passed_ != kNoJob && job > passed_) {
    push(slot);
  } else {
    at(slot).is_listed = true;
    later_.push_back({job, slot});
  }
}

void HeldReservations::push(Slot slot) {
  at(slot).is_listed = true;
  candidates_.push({at(slot).held.job, slot});
}

void HeldReservations::list_starts(const FreeProfile::Starts& starts, std::int64_t free_before) {
  if (starts.narrowest > free_before) return;
  for (Slot slot = starts.first; slot != kNone; slot = at(slot).next) {
    if (at(slot).held.gpus <= free_before) list(slot);
  }
}

void HeldReservations::list_sizes(WaitingBySize::Width& width, Time begin, Time end) {
  const Time length = end - begin;
  const int longest = WaitingBySize::list_of(length);
  std::uint64_t filled = width.filled & (~std::uint64_t{0} >> (63 - longest));
  for (; filled != 0; filled &= filled - 1) {
    WaitingBySize::List& those =
        width.by_length[static_cast<std::size_t>(std::countr_zero(filled))];
    if (those.latest <= begin) continue;
    Time latest{0};
    for (WaitingBySize::List::Entry& each : those.entries) {
      if (each.length <= length && each.latest > begin) {
        each.latest = std::min(each.latest, list_alike(each.alike, begin));
      }
      latest = std::max(latest, each.latest);
    }
    those.latest = latest;
  }
}

/// The first of them that starts after an instant stands for all: who comes next is known when it
/// has been tried, as it may use the room up. Returns when the last of them starts, or kNever if not
/// all were looked at.
Time HeldReservations::list_alike(WaitingBySize::Place place, Time begin) {
  WaitingBySize::Alike& alike = sizes_.alike(place);
  Time latest{0};
  const auto starts_later = [&](const Candidate& each) {
    const Time start = at(each.slot).held.at;
    latest = std::max(latest, start);
    return start > begin;
  };
  const std::span<const Candidate> ahead = alike.after(passed_);
  if (!alike.is_later) {
    const auto past = std::span(alike.members).first(alike.members.size() - ahead.size());
    alike.is_later = std::any_of(past.rbegin(), past.rend(), starts_later);
    if (alike.is_later) alike_later_.push_back(place);
  }
  for (const Candidate& each : ahead) {
    if (each.job == alike.next) break;
    if (!starts_later(each)) continue;
    alike.next = each.job;
    list(each.slot);
    break;
  }
  const bool knows_all = !alike.is_later && alike.next == kNoJob;
  return knows_all ? latest : kNever;
}

void HeldReservations::list_next(WaitingBySize::Alike& alike, std::span<const Candidate> ahead) {
  if (ahead.empty()) return;
  const std::int64_t gpus = at(ahead.front().slot).held.gpus;
  const Time until = sizes_.width(gpus).ruled_out.until(alike.length);
  for (const Candidate& each : ahead) {
    if (each.job == alike.next) return;
    if (at(each.slot).held.at <= until) continue;
    alike.next = each.job;
    if (!at(each.slot).is_listed) push(each.slot);
    return;
  }
}

void HeldReservations::list_all() {
  for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].held.job != kNoJob) list(static_cast<Slot>(slot));
  }
}

/// Who starts where more are free just before may begin earlier, and so may whoever finds room that
/// was not there: a stretch in which enough are free for its width that reaches into what is given
/// back, and is long enough.
void HeldReservations::give_back(Time begin, Time end, std::int64_t gpus) {
  if (end <= profile_.now() || gpus == 0) return;
  profile_.take(begin, end, -gpus);
  if (looks_at_all_) return;
  begin = std::max(begin, profile_.now());
  auto& widths = sizes_.widths();
  rooms_.resize(widths.size());
  FreeProfile::Walk walk(profile_, begin);
  std::int64_t level = walk.level();
  std::size_t open = 0;      // as many widths, the narrowest, have room
  std::size_t num_new = 0;   // and of these so many room that is new
  while (open < widths.size() && widths[open].gpus <= level) {
    const bool is_new = widths[open].gpus > level - gpus;
    rooms_[open++] = {kNever, is_new};
    num_new += is_new ? 1 : 0;
  }
  const auto shut = [&](std::size_t width, Time until) {
    if (!rooms_[width].is_new) return;
    --num_new;
    WaitingBySize::Width& those = widths[width];
    Time since = rooms_[width].begin;
    if (since == kNever) {
      since = begin > profile_.now() ? profile_.free_since(begin, those.gpus) : begin;
    }
    those.ruled_out.give_back(since, until);
    list_sizes(those, since, until);
  };
  bool is_inside = true;
  while (walk.next()) {
    const Time at = walk.at();
    if (is_inside) list_starts(walk.starts(), level);
    if (at >= end) is_inside = false;
    if (!is_inside && num_new == 0) return;
    level = walk.level();
    while (open > 0 && widths[open - 1].gpus > level) shut(--open, at);
    if (!is_inside) continue;
    for (std::size_t width = open; width-- > 0 && widths[width].gpus > level - gpus;) {
      num_new += rooms_[width].is_new ? 0 : 1;
      rooms_[width].is_new = true;
    }
    for (; open < widths.size() && widths[open].gpus <= level; ++open) {
      const bool is_new = widths[open].gpus > level - gpus;
      rooms_[open] = {at, is_new};
      num_new += is_new ? 1 : 0;
    }
  }
  while (open > 0) shut(--open, kNever);
}

void HeldReservations::move_up(const RunControl& control) {
  profile_.move_sliding();
  if (looks_at_all_) list_all();
  list_later();
  while (!candidates_.empty()) {
    control.check();
    const Candidate candidate = candidates_.top();
    candidates_.pop();
    passed_ = candidate.job;
    try_one(candidate.slot);
  }
  passed_ = kNoJob;
}

void HeldReservations::list_later() {
  for (const Candidate& candidate : later_) {
    if (at(candidate.slot).held.job == candidate.job) candidates_.push(candidate);
  }
  later_.clear();
  for (const WaitingBySize::Place place : alike_later_) {
    WaitingBySize::Alike& alike = sizes_.alike(place);
    alike.is_later = false;
    list_next(alike, alike.members);
  }
  alike_later_.clear();
}

void HeldReservations::try_one(Slot slot) {
  Waiting& waiting = at(slot);
  waiting.is_listed = false;
  WaitingBySize::Alike& alike = sizes_.alike(waiting.alike);
  const bool is_next = alike.next == waiting.held.job;
  if (is_next) alike.next = kNoJob;
  const Time to = looks_at_all_ ? fit_without(waiting.held) : earliest_fit(slot);
  if (to < waiting.held.at) move(slot, to);
  if (is_next) list_next(alike, alike.after(waiting.held.job));
}

Time HeldReservations::earliest_fit(Slot slot) {
  const Held& held = at(slot).held;
  const Time to = room_for(held);
  const Time end = to + held.length;
  if (to == held.at || end <= held.at) return to;
  // Later on it takes its own: enough unless others want more than there is. It is tried again in
  // each pass then, as that may change where nobody looks.
  if (!profile_.is_overdrawn(held.at, end)) return to;
  list(slot);
  return held.at;
}

Time HeldReservations::first_fit(std::int32_t gpus, Time length) {
  if (looks_at_all_) return profile_.earliest(length, gpus);
  RuledOut& ruled_out = sizes_.width(gpus).ruled_out;
  return search(ruled_out, {gpus, length, ruled_out.until(length), kNever});
}

Time HeldReservations::room_for(const Held& held) {
  RuledOut& ruled_out = sizes_.width(held.gpus).ruled_out;
  const Time from = std::max(profile_.now(), ruled_out.until(held.length));
  if (from >= held.at) {
    return held.at > profile_.now() ? profile_.free_since(held.at, held.gpus) : held.at;
  }
  return search(ruled_out, {held.gpus, held.length, from, held.at});
}

Time HeldReservations::search(RuledOut& ruled_out, FreeProfile::Search search) {
  // What was found there may have grown since, to the front.
  search.from =
      search.from > profile_.now() ? profile_.free_since(search.from, search.gpus) : profile_.now();
  const Time found = profile_.search(search);
  ruled_out.rule_out(search.length, found);
  return found;
}

Time HeldReservations::fit_without(const Held& held) {
  profile_.take(held.at, held.at + held.length, -held.gpus);
  const Time at = profile_.earliest(held.length, held.gpus);
  profile_.take(held.at, held.at + held.length, held.gpus);
  return at;
}

void HeldReservations::move(Slot slot, Time to) {
  leave(slot);
  Held& held = at(slot).held;
  const Time before = held.at;
  held.at = to;
  profile_.take(to, std::min(to + held.length, before), held.gpus);
  enter(slot);
  give_back(std::max(before, to + held.length), before + held.length, held.gpus);
}

}  // namespace gpusched
