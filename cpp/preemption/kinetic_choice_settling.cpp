#include <algorithm>
#include <limits>

#include "preemption/kinetic_choice.hpp"

namespace gpusched {
namespace {

/// More than is ever given up: whatever was judged before is judged anew.
constexpr std::int64_t kForget = std::numeric_limits<std::int64_t>::max() - 1;

}  // namespace

KineticChoice::Candidate KineticChoice::first_of(const KineticGroup& group) {
  if (group.track != kNone) {
    const RunningIndex::Entry& first = first_passed(group.track, group.width);
    return {key_of(tracks_[group.track], first), first.gpus, JobClasses::kNoClass, group.track,
            group.width};
  }
  ClassId id = group.waiting;
  if (has_many_classes_) {
    const ClassHead* head = least_of_width(group.waiting);
    if (head == nullptr) return {};
    id = head->id;
  }
  return {least_[id], state_->classes().gpus(id), id, 0, 0};
}

/// The least of those for which `lacks(key, gpus)` is 0: else so many GPUs have to be given up before
/// it can be, and what has to wait for more than `given_up` is not asked about, nor what is no better.
template <class Lacks>
KineticChoice::Candidate KineticChoice::least_candidate(std::int64_t given_up, Lacks lacks) {
  Candidate best;
  for (std::size_t i = 0; i < fits_at_.size(); ++i) {
    if (fits_at_[i] > given_up) continue;
    const Candidate first = first_of(groups_[i]);
    if (first.key.job == kNoJob) {
      fits_at_[i] = kNobody;
      continue;
    }
    if (best.key.job != kNoJob && !(first.key < best.key)) continue;
    const std::int64_t lacking = lacks(first.key, first.gpus);
    // Who comes earlier as time passes is judged anew each time.
    const bool is_falling = groups_[i].track != kNone && tracks_[groups_[i].track].slope < 0;
    fits_at_[i] = is_falling ? 0 : given_up_ + lacking;
    if (lacking == 0) best = first;
  }
  return best;
}

KineticChoice::Candidate KineticChoice::first_candidate() {
  return least_candidate(kForget, [](const Key&, int) { return std::int64_t{0}; });
}

bool KineticChoice::is_settled() const noexcept {
  const std::int64_t given_up = has_rising_keys() ? kForget : given_up_;
  return num_left_waiting_ + num_left_running_ == 0 &&
         std::none_of(fits_at_.begin(), fits_at_.end(),
                      [&](std::int64_t fits_at) { return fits_at <= given_up; });
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

/// What a candidate lacks, less what is given up, it lacks for good: jobs that are taken make no
/// room, and who stays taken comes no later as time passes. Where one does, all is judged anew.
void KineticChoice::settle_skipping() {
  const bool forgets = has_rising_keys();
  for (;;) {
    const Candidate best =
        least_candidate(forgets ? kForget : given_up_,
                        [&](const Key& key, int gpus) { return lacking(gpus, key); });
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
    const Candidate best = first_candidate();
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
    const Candidate best = first_candidate();
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
  RunningIndex::Entry first_entry{};
  for (;;) {
    const std::int64_t surplus = num_taken_[width] - num_left_[width] - num_served;
    if (surplus > 0) {
      const std::uint16_t track = track_of_last(at, last);
      change_side(track, RunningIndex::Entry(tracks_[track].taken.back()));
      continue;
    }
    const std::uint16_t left =
        num_left_[width] > 0 ? track_of_first_left(at, first, first_entry) : kNone;
    if (surplus < 0) {
      change_side(left, first_entry);
      continue;
    }
    if (num_served == 0 || left == kNone) return;
    const std::uint16_t track = track_of_last(at, last);
    if (last < first) return;
    change_side(track, RunningIndex::Entry(tracks_[track].taken.back()));
    change_side(left, first_entry);
  }
}

std::uint16_t KineticChoice::track_of_last(std::size_t at, Key& key) {
  std::uint16_t last = kNone;
  for (const auto& tracks : track_at_) {
    const std::uint16_t track = tracks[at];
    if (track == kNone || tracks_[track].taken.empty()) continue;
    if (tracks_[track].is_loose) sharpen_last(tracks_[track], 1);
    const Key own = key_of(tracks_[track], tracks_[track].taken.back());
    if (last != kNone && own < key) continue;
    last = track;
    key = own;
  }
  return last;
}

std::uint16_t KineticChoice::track_of_first_left(std::size_t at, Key& key,
                                                 RunningIndex::Entry& entry) const {
  std::uint16_t first = kNone;
  for (const auto& tracks : left_at_) {
    const std::uint16_t track = tracks[at];
    if (track == kNone || tracks_[track].taken.empty()) continue;
    const RunningIndex& jobs = tracks_[track].taken;
    const RunningIndex::Entry& least =
        tracks_[track].is_loose ? least_of(tracks_[track], jobs) : jobs.front();
    const Key own = key_of(tracks_[track], least);
    if (first != kNone && key < own) continue;
    first = track;
    key = own;
    entry = least;
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
