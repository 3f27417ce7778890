#include <algorithm>
#include <span>
#include <vector>

#include "preemption/kinetic_choice.hpp"

namespace gpusched {

KeyLine KineticChoice::line(JobId job) const {
  return order_->line(QueueView(*state_, seed_), job);
}

/// The key at this instant, without its factor.
std::int64_t KineticChoice::value_of(JobId job) const { return line(job).value; }

bool KineticChoice::straighten() {
  bool has_bent = false;
  while (!bends_.empty() && bends_.top().at <= state_->now()) {
    const Bend bend = bends_.top();
    bends_.pop();
    const Place place = places_[bend.slot];
    if (place.job == kNoJob || place.stamp != bend.stamp) continue;
    remove_running(bend.slot);
    add(place.job, line(place.job), place.is_taken, tracks_[place.track].is_left);
    has_bent = true;
  }
  return has_bent;
}

/// Where lines are loose the bound is one of the other side.
void KineticChoice::set_side(Place& place, bool is_taken) {
  place.is_taken = is_taken;
  const Track& track = tracks_[place.track];
  if (track.is_loose) place.base = track.base(value_of(place.job), state_->now(), is_taken);
}

/// The bound of a running job is its key, as it is now; whether it was another one.
bool KineticChoice::sharpen(JobId job) {
  Place& place = places_[state_->record(job).slot];
  Track& track = tracks_[place.track];
  const Time base = track.base(value_of(job), state_->now(), place.is_taken);
  if (base == place.base) return false;
  RunningIndex& jobs = place.is_taken ? track.taken : track.passed[track.passed_at(place.width)];
  jobs.erase(place.base, job);
  jobs.insert({base, job, state_->jobs().gpus(job)});
  place.base = base;
  return true;
}

void KineticChoice::sharpen_all(std::span<const JobId> jobs) {
  for (const JobId job : jobs) sharpen(job);
}

/// Of those that are passed over. All others are bounded by its key once it is sharp.
const RunningIndex::Entry& KineticChoice::first_passed(std::size_t track, std::size_t width) {
  const RunningIndex& passed = tracks_[track].passed[width];
  if (tracks_[track].is_unbounded) return least_of(tracks_[track], passed);
  while (tracks_[track].is_loose && sharpen(passed.front().job)) {
  }
  return passed.front();
}

/// By the keys of all: for few jobs that are not sorted by a bound from below.
const RunningIndex::Entry& KineticChoice::least_of(const Track& track,
                                                   const RunningIndex& jobs) const {
  const RunningIndex::Entry* least = &jobs.front();
  Key key = key_of(track, *least);
  jobs.for_each([&](const RunningIndex::Entry& entry) {
    const Key own = key_of(track, entry);
    if (!(own < key)) return;
    least = &entry;
    key = own;
  });
  return *least;
}

/// The last taken jobs of a track, those that have `enough` GPUs, are sorted by their keys.
void KineticChoice::sharpen_last(const Track& track, std::int64_t enough) {
  do {
    blunt_.clear();
    std::int64_t sum = 0;
    for (auto at = track.taken.last(); at.is_valid() && sum < enough; track.taken.step_back(at)) {
      const RunningIndex::Entry& entry = track.taken.at(at);
      sum += entry.gpus;
      if (track.base(value_of(entry.job), state_->now(), true) != entry.end) {
        blunt_.push_back(entry.job);
      }
    }
    sharpen_all(blunt_);
  } while (!blunt_.empty());
}

/// GPUs of the taken jobs of a track whose lines are loose that do not come before `first`, which
/// is without the factor.
std::int64_t KineticChoice::taken_loosely_from(const Track& track, const Key& first,
                                               std::int64_t enough) {
  const Time bound = track.base(first.value, state_->now(), true);
  std::int64_t sum = 0;
  blunt_.clear();
  for (auto at = track.taken.last(); at.is_valid() && sum < enough; track.taken.step_back(at)) {
    const RunningIndex::Entry& entry = track.taken.at(at);
    if (entry < RunningIndex::Entry{bound, first.job, 0}) break;
    if (Key{value_of(entry.job), entry.job} < first) {
      blunt_.push_back(entry.job);
    } else {
      sum += entry.gpus;
    }
  }
  sharpen_all(blunt_);
  return sum;
}

/// GPUs of the taken jobs that come after the key; more than `enough` need not be counted.
std::int64_t KineticChoice::taken_from(const Key& key, std::int64_t enough) {
  std::int64_t sum = 0;
  for (const Track& track : tracks_) {
    if (track.taken.empty()) continue;
    std::int64_t bound = key.value;
    JobId job = key.job;
    if (track.factor != 1) {
      bound = key.value / track.factor;
      const std::int64_t rest = key.value - bound * track.factor;
      if (rest > 0) ++bound;  // the division rounds towards zero
      if (rest != 0) job = 0;
    }
    sum += track.is_loose
               ? taken_loosely_from(track, {bound, job}, enough - sum)
               : track.taken.sum_from(track.base(bound, state_->now(), true), job, enough - sum);
    if (sum >= enough) break;
  }
  return sum;
}

/// No key of a taken job of the track comes after it that is not sorted after the entry.
KineticChoice::Key KineticChoice::bound_of(const Track& track,
                                           const RunningIndex::Entry& entry) const noexcept {
  return {track.factor * (entry.end + track.slope_of(true) * state_->now()).count(), entry.job};
}

void KineticChoice::taken_after(const Key& key, std::vector<Key>& out) const {
  out.clear();
  for (const Track& track : tracks_) {
    if (track.is_asked || track.is_left) continue;
    for (auto at = track.taken.last(); at.is_valid(); track.taken.step_back(at)) {
      const RunningIndex::Entry& entry = track.taken.at(at);
      const Key own = key_of(track, entry);
      if (!(own < key)) {
        out.push_back(own);
      } else if (!track.is_loose || bound_of(track, entry) < key) {
        break;
      }
    }
  }
  std::sort(out.begin(), out.end());
}

}  // namespace gpusched
