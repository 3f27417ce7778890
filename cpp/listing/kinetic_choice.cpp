#include "listing/kinetic_choice.hpp"

#include <algorithm>

namespace gpusched {
namespace {

/// Products of a double's precision are exact below it.
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;

}  // namespace

void KineticChoice::begin(const State& state) {
  const JobClasses& classes = state.classes();
  state_ = &state;
  num_gpus_ = state.cluster().num_gpus();
  total_ = 0;
  width_at_.clear();
  num_widths_ = 0;
  for (ClassId id = 0; id < classes.num_classes(); ++id) {
    const auto gpus = static_cast<std::size_t>(classes.gpus(id));
    if (gpus >= width_at_.size()) width_at_.resize(gpus + 1, UINT16_MAX);
    if (width_at_[gpus] == UINT16_MAX) width_at_[gpus] = num_widths_++;
  }
  tracks_.clear();
  tracks_.push_back({1, 0, {}, {}});
  tracks_.push_back({1, 0, {}, std::vector<RunningIndex>(num_widths_)});
  places_.clear();
  waiting_.assign(classes.num_classes(), {});
  asked_of_.assign(classes.num_classes(), 0);
  num_waiting_ = num_asked_ = num_passed_ = 0;
  bends_.clear();
  is_inexact_ = false;
}

std::uint16_t KineticChoice::track_of(std::int64_t factor, int slope) {
  if (slope == 0) return kStill;
  for (std::size_t at = kMoving; at < tracks_.size(); ++at) {
    if (tracks_[at].factor == factor) return static_cast<std::uint16_t>(at);
  }
  tracks_.push_back({factor, slope, {}, std::vector<RunningIndex>(num_widths_)});
  return static_cast<std::uint16_t>(tracks_.size() - 1);
}

/// A key at the instant at which the line was drawn.
std::int64_t KineticChoice::product(const KeyLine& line) {
  if (line.factor == 1) return line.value;
  std::int64_t value = 0;
  const bool is_wrong = __builtin_mul_overflow(line.value, line.factor, &value);
  if (is_wrong || value > kMostExact || value < -kMostExact) is_inexact_ = true;
  return value;
}

KineticChoice::Key KineticChoice::key_of(const Track& track,
                                         const RunningIndex::Entry& entry) const noexcept {
  return {track.factor * (entry.end + track.slope * state_->now()).count(), entry.job};
}

void KineticChoice::add_waiting(JobId job, const KeyLine& line) {
  waiting_[state_->classes().of(job)].push({product(line), job});
  ++num_waiting_;
}

KineticChoice::Key KineticChoice::pop_waiting(ClassId id) {
  const Key least = waiting_[id].top();
  waiting_[id].pop();
  --num_waiting_;
  return least;
}

void KineticChoice::put(const Place& place, std::int32_t gpus) {
  Track& track = tracks_[place.track];
  if (place.is_taken) {
    track.taken.insert({place.base, place.job, gpus});
    total_ += gpus;
  } else {
    track.passed[place.width].insert({place.base, place.job, gpus});
    ++num_passed_;
  }
}

void KineticChoice::take_out(const Place& place) {
  Track& track = tracks_[place.track];
  if (place.is_taken) {
    track.taken.erase(place.base, place.job);
    total_ -= state_->jobs().gpus(place.job);
  } else {
    track.passed[place.width].erase(place.base, place.job);
    --num_passed_;
  }
}

void KineticChoice::add_running(JobId job, const KeyLine& line, bool is_taken) {
  const std::uint32_t slot = state_->record(job).slot;
  const std::int32_t gpus = state_->jobs().gpus(job);
  if (slot >= places_.size()) places_.resize(slot + 1);
  Place& place = places_[slot];
  const std::int64_t key = product(line);
  place.job = job;
  place.track = track_of(line.factor, line.slope);
  place.width = width_at_[static_cast<std::size_t>(gpus)];
  place.is_taken = is_taken;
  place.base = place.track == kStill ? Time{key} : Time{line.value} - line.slope * state_->now();
  ++place.stamp;
  put(place, gpus);
  if (line.until != kNever) bends_.push({line.until, slot, place.stamp});
}

bool KineticChoice::remove_running(std::uint32_t slot) {
  Place& place = places_[slot];
  take_out(place);
  place.job = kNoJob;
  return place.is_taken;
}

void KineticChoice::remove_asked(const Key& job) {
  tracks_[kAsked].taken.erase(Time{job.value}, job.job);
  total_ -= state_->jobs().gpus(job.job);
  --asked_of_[state_->classes().of(job.job)];
  --num_asked_;
}

Time KineticChoice::next_bend() {
  while (!bends_.empty()) {
    const Bend& bend = bends_.top();
    const Place& place = places_[bend.slot];
    if (place.job != kNoJob && place.stamp == bend.stamp) return bend.at;
    bends_.pop();
  }
  return kNever;
}

/// GPUs of the taken jobs that come after the key; more than `enough` need not be counted.
std::int64_t KineticChoice::taken_from(const Key& key, std::int64_t enough) const {
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
    sum += track.taken.sum_from(Time{bound} - track.slope * state_->now(), job, enough - sum);
    if (sum >= enough) break;
  }
  return sum;
}

bool KineticChoice::fits(int gpus, const Key& key) const {
  const std::int64_t missing = gpus - (num_gpus_ - total_);
  return missing <= 0 || taken_from(key, missing) >= missing;
}

void KineticChoice::take_waiting(ClassId id) {
  const Key job = pop_waiting(id);
  const int gpus = state_->classes().gpus(id);
  tracks_[kAsked].taken.insert({Time{job.value}, job.job, gpus});
  total_ += gpus;
  ++asked_of_[id];
  ++num_asked_;
}

void KineticChoice::take_passed(std::uint16_t track, std::uint16_t width) {
  const RunningIndex::Entry entry = tracks_[track].passed[width].front();
  Place& place = places_[state_->record(entry.job).slot];
  take_out(place);
  place.is_taken = true;
  put(place, entry.gpus);
}

/// While more GPUs are taken than there are, the first job that no longer fits is passed over.
/// Whether one of them runs.
bool KineticChoice::give_way() {
  bool has_left = false;
  while (total_ > num_gpus_) {
    const std::int64_t excess = total_ - num_gpus_;
    // From the greatest key down to the job with which all from it on reach the excess.
    std::vector<RunningIndex::Cursor>& at = cursors_;
    at.clear();
    for (const Track& track : tracks_) at.push_back(track.taken.last());
    std::size_t greatest = 0;
    for (std::int64_t sum = 0; sum < excess;) {
      greatest = tracks_.size();
      Key key{};
      for (std::size_t i = 0; i < tracks_.size(); ++i) {
        if (!at[i].is_valid()) continue;
        const Key own = key_of(tracks_[i], tracks_[i].taken.at(at[i]));
        if (greatest != tracks_.size() && own < key) continue;
        greatest = i;
        key = own;
      }
      sum += tracks_[greatest].taken.at(at[greatest]).gpus;
      if (sum < excess) tracks_[greatest].taken.step_back(at[greatest]);
    }
    const RunningIndex::Entry entry = tracks_[greatest].taken.at(at[greatest]);
    if (greatest == kAsked) {
      const Key job{entry.end.count(), entry.job};
      remove_asked(job);
      waiting_[state_->classes().of(entry.job)].push(job);
      ++num_waiting_;
    } else {
      Place& place = places_[state_->record(entry.job).slot];
      take_out(place);
      place.is_taken = false;
      put(place, entry.gpus);
      has_left = true;
    }
  }
  return has_left;
}

bool KineticChoice::settle() {
  const JobClasses& classes = state_->classes();
  bool has_left = false;
  for (;;) {
    Key best{0, kNoJob};
    ClassId waiting = JobClasses::kNoClass;
    std::uint16_t track = 0;
    std::uint16_t width = 0;
    const auto is_better = [&](const Key& key, int gpus) {
      return (best.job == kNoJob || key < best) && fits(gpus, key);
    };
    for (ClassId id = 0; id < classes.num_classes(); ++id) {
      if (waiting_[id].empty()) continue;
      const Key& head = waiting_[id].top();
      if (!is_better(head, classes.gpus(id))) continue;
      best = head;
      waiting = id;
    }
    for (std::size_t i = kStill; num_passed_ > 0 && i < tracks_.size(); ++i) {
      for (std::size_t j = 0; j < tracks_[i].passed.size(); ++j) {
        const RunningIndex& passed = tracks_[i].passed[j];
        if (passed.empty()) continue;
        const Key head = key_of(tracks_[i], passed.front());
        if (!is_better(head, passed.front().gpus)) continue;
        best = head;
        waiting = JobClasses::kNoClass;
        track = static_cast<std::uint16_t>(i);
        width = static_cast<std::uint16_t>(j);
      }
    }
    if (best.job == kNoJob) return has_left;
    if (waiting != JobClasses::kNoClass) {
      take_waiting(waiting);
    } else {
      take_passed(track, width);
    }
    has_left = give_way() || has_left;
  }
}

void KineticChoice::asked(std::vector<Key>& out) const {
  out.clear();
  tracks_[kAsked].taken.for_each(
      [&](const RunningIndex::Entry& entry) { out.push_back({entry.end.count(), entry.job}); });
}

void KineticChoice::passed_over(std::vector<Key>& out) const {
  out.clear();
  if (num_passed_ == 0) return;
  for (const Track& track : tracks_) {
    for (const RunningIndex& passed : track.passed) {
      passed.for_each(
          [&](const RunningIndex::Entry& entry) { out.push_back(key_of(track, entry)); });
    }
  }
  std::sort(out.begin(), out.end());
}

std::vector<JobId> KineticChoice::drain_waiting() {
  std::vector<JobId> jobs;
  for (auto& queue : waiting_) {
    for (; !queue.empty(); queue.pop()) jobs.push_back(queue.top().job);
  }
  tracks_[kAsked].taken.for_each(
      [&](const RunningIndex::Entry& entry) { jobs.push_back(entry.job); });
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace gpusched
