#include <algorithm>
#include <limits>

#include "preemption/kinetic_choice.hpp"

namespace gpusched {

/// The least of those for which `accept(key, gpus)` holds. What is no better is not asked about.
template <class Accept>
KineticChoice::Candidate KineticChoice::least_candidate(Accept accept) {
  const JobClasses& classes = state_->classes();
  Candidate best;
  const auto is_better = [&](const Key& key, int gpus) {
    return (best.key.job == kNoJob || key < best.key) && accept(key, gpus);
  };
  // Of one width who comes later is accepted only if the first is.
  for (std::size_t i = 0; has_many_classes_ && num_waiting_ > 0 && i < widths_.size(); ++i) {
    const ClassHead* head = least_of_width(i);
    if (head == nullptr || !is_better(head->key, widths_[i])) continue;
    best = {head->key, widths_[i], head->id, 0, 0};
  }
  for (ClassId id = 0; !has_many_classes_ && num_waiting_ > 0 && id < classes.num_classes(); ++id) {
    if (waiting_[id].empty()) continue;
    const Key& head = waiting_[id].top();
    if (is_better(head, classes.gpus(id))) best = {head, classes.gpus(id), id, 0, 0};
  }
  for (std::size_t i = 0; num_passed_ > 0 && i < tracks_.size(); ++i) {
    // Where the width is the factor of the keys there is no other one.
    const bool has_one_width = tracks_[i].factor != 1 && !tracks_[i].passed.empty();
    const std::size_t first =
        has_one_width ? width_at_[static_cast<std::size_t>(tracks_[i].factor)] : 0;
    const std::size_t last = has_one_width ? first + 1 : tracks_[i].passed.size();
    for (std::size_t j = first; j < last; ++j) {
      const RunningIndex& passed = tracks_[i].passed[j];
      if (passed.empty()) continue;
      const Key head = key_of(tracks_[i], passed.front());
      if (!is_better(head, passed.front().gpus)) continue;
      best = {head, passed.front().gpus, JobClasses::kNoClass, static_cast<std::uint16_t>(i),
              static_cast<std::uint16_t>(j)};
    }
  }
  return best;
}

bool KineticChoice::settle() {
  ++num_settled_;
  has_left_ = false;
  moved_.clear();
  switch (rule_) {
    case ChoiceRule::skip:
      settle_skipping();
      break;
    case ChoiceRule::strict:
      settle_strictly();
      break;
    case ChoiceRule::filling:
    case ChoiceRule::strict_filling:
      settle_prefix();
      serve_widest_first();
      break;
  }
  return has_left_;
}

void KineticChoice::settle_skipping() {
  for (;;) {
    const Candidate best =
        least_candidate([&](const Key& key, int gpus) { return fits(gpus, key); });
    if (best.key.job == kNoJob) return;
    take(best);
    // Whoever no longer fits is passed over, the first of them first.
    while (total_ > num_gpus_) {
      const auto [track, entry] = reach_from_last(total_ - num_gpus_);
      pass_over(track, entry);
    }
  }
}

void KineticChoice::settle_strictly() {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const auto pass_last = [&] {
    const auto [track, entry] = reach_from_last(1);
    pass_over(track, entry);
  };
  for (;;) {
    const Candidate best = least_candidate([](const Key&, int) { return true; });
    if (best.key.job == kNoJob) return;
    const std::int64_t after = taken_from(best.key, kAll);
    if (total_ - after + best.gpus > num_gpus_) {
      for (const std::int64_t before = total_ - after; total_ > before;) pass_last();
      return;
    }
    take(best);
    while (total_ > num_gpus_) pass_last();
  }
}

/// The shortest prefix with as many GPUs as there are.
void KineticChoice::settle_prefix() {
  for (;;) {
    const Candidate best = least_candidate([](const Key&, int) { return true; });
    if (best.key.job == kNoJob) break;
    const std::int64_t spare = total_ - num_gpus_;  // a candidate comes after as many: too late
    if (spare >= 0 && taken_from(best.key, spare + 1) <= spare) break;
    take(best);
    while (total_ > num_gpus_) {
      const auto [track, entry] = reach_from_last(1);
      if (total_ - entry.gpus < num_gpus_) break;
      pass_over(track, entry);
    }
  }
  while (total_ > num_gpus_) {  // jobs may have changed places among each other
    const auto [track, entry] = reach_from_last(1);
    if (total_ - entry.gpus < num_gpus_) break;
    pass_over(track, entry);
  }
}

/// Of each width the last are left out that the budget, less what is wider, does not reach.
void KineticChoice::serve_widest_first() {
  std::int64_t budget = num_gpus_;
  bool has_stopped = false;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    const std::int64_t most = has_stopped ? 0 : budget / widths_[i];
    const std::int64_t num_served = std::min(num_taken_[i], most);
    budget -= num_served * widths_[i];
    has_stopped |= rule_ == ChoiceRule::strict_filling && num_served < num_taken_[i];
    serve(i, num_served);
  }
}

/// The first so many of a width, whose keys have it as their factor.
void KineticChoice::serve(std::size_t width, std::int64_t num_served) {
  const std::size_t at = widths_[width] == 1 ? 0 : width + 1;
  Key last{};
  Key first{};
  for (;;) {
    const std::int64_t surplus = num_taken_[width] - num_left_[width] - num_served;
    if (surplus > 0) {
      const std::uint16_t track = track_of_last(at, last);
      change_side(track, RunningIndex::Entry(tracks_[track].taken.back()));
      continue;
    }
    const std::uint16_t left = num_left_[width] > 0 ? track_of_first_left(at, first) : kNone;
    if (surplus < 0) {
      change_side(left, RunningIndex::Entry(tracks_[left].taken.front()));
      continue;
    }
    if (num_served == 0 || left == kNone) return;
    const std::uint16_t track = track_of_last(at, last);
    if (last < first) return;
    change_side(track, RunningIndex::Entry(tracks_[track].taken.back()));
    change_side(left, RunningIndex::Entry(tracks_[left].taken.front()));
  }
}

std::uint16_t KineticChoice::track_of_last(std::size_t at, Key& key) const {
  std::uint16_t last = kNone;
  for (const auto& tracks : track_at_) {
    const std::uint16_t track = tracks[at];
    if (track == kNone || tracks_[track].taken.empty()) continue;
    const Key own = key_of(tracks_[track], tracks_[track].taken.back());
    if (last != kNone && own < key) continue;
    last = track;
    key = own;
  }
  return last;
}

std::uint16_t KineticChoice::track_of_first_left(std::size_t at, Key& key) const {
  std::uint16_t first = kNone;
  for (const auto& tracks : left_at_) {
    const std::uint16_t track = tracks[at];
    if (track == kNone || tracks_[track].taken.empty()) continue;
    const Key own = key_of(tracks_[track], tracks_[track].taken.front());
    if (first != kNone && key < own) continue;
    first = track;
    key = own;
  }
  return first;
}

/// Who was served is left out, or the other way round.
void KineticChoice::change_side(std::uint16_t track, const RunningIndex::Entry& entry) {
  const std::uint16_t other = other_side(track);
  if (tracks_[track].is_asked) {
    tracks_[track].taken.erase(entry.end, entry.job);
    count(track, entry.job, -1);
    tracks_[other].taken.insert(entry);
    count(other, entry.job, 1);
    return;
  }
  Place& place = places_[state_->record(entry.job).slot];
  take_out(place);
  place.track = other;
  put(place, entry.gpus);
  const bool is_served = !tracks_[other].is_left;
  moved_.emplace_back(entry.job, is_served);
  has_left_ = has_left_ || !is_served;
}

}  // namespace gpusched
