#include "preemption/kinetic_choice.hpp"

#include <algorithm>
#include <functional>

namespace gpusched {
namespace {

/// Products of a double's precision are exact below it.
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;
/// Of jobs with more work than this roundings are too coarse for the bounds of loose lines.
constexpr double kLooseWork = std::int64_t{1} << 50;

}  // namespace

void KineticChoice::begin(const Setup& setup, ChoiceRule rule, Order& order) {
  const State& state = setup.state;
  const JobClasses& classes = state.classes();
  state_ = &state;
  order_ = &order;
  seed_ = setup.seed;
  rule_ = rule;
  num_gpus_ = state.cluster().num_gpus();
  total_ = given_up_ = 0;
  widths_.clear();
  for (ClassId id = 0; id < classes.num_classes(); ++id) widths_.push_back(classes.gpus(id));
  std::sort(widths_.begin(), widths_.end(), std::greater<>());
  widths_.erase(std::unique(widths_.begin(), widths_.end()), widths_.end());
  width_at_.assign(widths_.empty() ? 0 : static_cast<std::size_t>(widths_[0]) + 1, kNone);
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    width_at_[static_cast<std::size_t>(widths_[i])] = static_cast<std::uint16_t>(i);
  }
  num_taken_.assign(widths_.size(), 0);
  num_left_.assign(widths_.size(), 0);
  tracks_.clear();
  for (auto& tracks : track_at_) tracks.assign(widths_.size() + 1, kNone);
  for (auto& tracks : left_at_) tracks.assign(widths_.size() + 1, kNone);
  places_.clear();
  waiting_.assign(classes.num_classes(), {});
  least_.assign(classes.num_classes(), {0, kNoJob});
  asked_of_.assign(classes.num_classes(), 0);
  factor_of_.assign(classes.num_classes(), 1);
  num_waiting_ = num_asked_ = num_passed_ = num_left_waiting_ = num_left_running_ = 0;
  bends_.clear();
  has_loose_ = is_inexact_ = false;
  num_settled_ = 0;
  has_many_classes_ = classes.num_classes() > ClassTree::kFewClasses &&
                      (rule == ChoiceRule::skip || rule == ChoiceRule::strict);
  begin_groups();
  if (has_many_classes_) begin_many_classes();
}

std::uint16_t KineticChoice::track_of(Kind kind, std::int64_t factor, int gpus, int slope,
                                      bool is_left) {
  const std::size_t at =
      factor == 1 ? 0 : std::size_t{1} + width_at_[static_cast<std::size_t>(gpus)];
  std::uint16_t& track = is_left ? left_at_[kind][at] : track_at_[kind][at];
  if (track == kNone) {
    track = static_cast<std::uint16_t>(tracks_.size());
    const bool is_unbounded = kind == kUnbounded;
    const bool is_loose = kind == kLoose || is_unbounded;
    tracks_.push_back(
        {factor, slope, kind == kAsked, is_left, is_loose, is_unbounded, {}, {}, groups_.size()});
    if (kind != kAsked && !is_left) add_groups(track);
  }
  return track;
}

std::uint16_t KineticChoice::other_side(std::uint16_t track) {
  const Track& own = tracks_[track];
  const Kind kind = own.is_asked     ? kAsked
                    : own.is_loose   ? kLoose
                    : own.slope == 0 ? kStill
                                     : kMoving;
  return track_of(kind, own.factor, static_cast<int>(own.factor), own.slope, !own.is_left);
}

/// A key at the instant at which the line was drawn.
std::int64_t KineticChoice::product(const KeyLine& line) {
  if (!line.is_product) return line.value;
  std::int64_t value = 0;
  const bool is_wrong = __builtin_mul_overflow(line.value, line.factor, &value);
  if (is_wrong || value > kMostExact || value < -kMostExact) is_inexact_ = true;
  return value;
}

KineticChoice::Key KineticChoice::key_of(const Track& track,
                                         const RunningIndex::Entry& entry) const {
  if (track.is_loose) return {track.factor * value_of(entry.job), entry.job};
  return {track.factor * (entry.end + track.slope * state_->now()).count(), entry.job};
}

KineticChoice::Key KineticChoice::add_waiting(JobId job, const KeyLine& line) {
  const ClassId id = state_->classes().of(job);
  factor_of_[id] = line.factor;
  const Key key{product(line), job};
  push_waiting(id, key);
  return key;
}

void KineticChoice::remove_waiting(std::vector<Key> jobs) {
  std::erase_if(jobs, [&](const Key& job) { return remove_taken_waiting(job); });
  const auto class_of = [&](const Key& job) { return state_->classes().of(job.job); };
  std::sort(jobs.begin(), jobs.end(), [&](const Key& a, const Key& b) {
    return class_of(a) != class_of(b) ? class_of(a) < class_of(b) : a < b;
  });
  for (auto first = jobs.begin(); first != jobs.end();) {
    const ClassId id = class_of(*first);
    const auto last =
        std::find_if(first, jobs.end(), [&](const Key& job) { return class_of(job) != id; });
    waiting_[id].remove_if([&](const Key& job) { return std::binary_search(first, last, job); });
    num_waiting_ -= static_cast<std::size_t>(last - first);
    note_least(id);
    first = last;
  }
}

void KineticChoice::withdraw(JobId job) {
  for (std::uint16_t track = 0; track < tracks_.size(); ++track) {
    if (!tracks_[track].is_asked) continue;
    Key key{0, kNoJob};
    tracks_[track].taken.for_each([&](const RunningIndex::Entry& entry) {
      if (entry.job == job) key = key_of(tracks_[track], entry);
    });
    if (key.job == kNoJob) continue;
    remove_from(track, key);
    return;
  }
  const ClassId id = state_->classes().of(job);
  waiting_[id].remove_if([&](const Key& key) { return key.job == job; });
  --num_waiting_;
  note_least(id);
}

/// Where a job that waits is if it is taken: asked for, or left out of a filling's prefix.
std::uint16_t KineticChoice::track_of_asked(const Key& job, bool is_left) {
  const std::int64_t factor = factor_of_[state_->classes().of(job.job)];
  return track_of(kAsked, factor, state_->jobs().gpus(job.job), 0, is_left);
}

void KineticChoice::remove_from(std::uint16_t track, const Key& job) {
  tracks_[track].taken.erase(Time{job.value / tracks_[track].factor}, job.job);
  count(track, job.job, -1);
}

void KineticChoice::start_asked(const Key& job, const KeyLine& line) {
  const std::int64_t given_up = given_up_;
  remove_from(track_of_asked(job, false), job);
  add_running(job.job, line, true);
  // It leaves no more room than before, unless it comes later now.
  if (!(job < key_of_running(state_->record(job.job).slot))) given_up_ = given_up;
}

bool KineticChoice::remove_taken_waiting(const Key& job) {
  for (const bool is_left : {false, true}) {
    const std::uint16_t track = track_of_asked(job, is_left);
    const Time base{job.value / tracks_[track].factor};
    if (!tracks_[track].taken.contains(base, job.job)) continue;
    remove_from(track, job);
    return true;
  }
  return false;
}

KineticChoice::Key KineticChoice::least_waiting_or_left(ClassId id) const {
  const Key left = least_left(id);
  const Key& head = least_[id];
  if (head.job == kNoJob) return left;
  return left.job != kNoJob && left < head ? left : head;
}

/// Of a class, among those of a filling's prefix that are left out.
KineticChoice::Key KineticChoice::least_left(ClassId id) const {
  const auto width = static_cast<std::size_t>(state_->classes().gpus(id));
  const std::size_t at = factor_of_[id] == 1 ? 0 : std::size_t{1} + width_at_[width];
  const std::uint16_t track = left_at_[kAsked][at];
  Key least{0, kNoJob};
  if (track == kNone) return least;
  tracks_[track].taken.for_each([&](const RunningIndex::Entry& entry) {
    if (least.job != kNoJob || state_->classes().of(entry.job) != id) return;
    least = key_of(tracks_[track], entry);
  });
  return least;
}

KineticChoice::Key KineticChoice::pop_waiting(ClassId id) {
  const Key least = least_waiting(id);
  if (least_[id].job == least.job) {
    pop_head(id);
    return least;
  }
  remove_from(track_of_asked(least, true), least);
  return least;
}

/// A job of a track's taken ones has come, or gone.
void KineticChoice::count(std::uint16_t track, JobId job, int sign) {
  const auto one = static_cast<std::size_t>(sign);  // counts wrap as they should
  const int gpus = state_->jobs().gpus(job);
  const std::uint16_t width = width_at_[static_cast<std::size_t>(gpus)];
  total_ += sign * gpus;
  if (sign < 0) given_up_ += gpus;
  num_taken_[width] += sign;
  if (tracks_[track].is_left) {
    num_left_[width] += sign;
    (tracks_[track].is_asked ? num_left_waiting_ : num_left_running_) += one;
  } else if (tracks_[track].is_asked) {
    asked_of_[state_->classes().of(job)] += one;
    num_asked_ += one;
  }
}

void KineticChoice::put(const Place& place, std::int32_t gpus) {
  Track& track = tracks_[place.track];
  if (place.is_taken) {
    track.taken.insert({place.base, place.job, gpus});
    count(place.track, place.job, 1);
  } else {
    track.passed[track.passed_at(place.width)].insert({place.base, place.job, gpus});
    fits_at_[track.group_of(place.width)] = 0;
    ++num_passed_;
  }
}

void KineticChoice::take_out(const Place& place) {
  Track& track = tracks_[place.track];
  if (place.is_taken) {
    track.taken.erase(place.base, place.job);
    count(place.track, place.job, -1);
  } else {
    RunningIndex& passed = track.passed[track.passed_at(place.width)];
    passed.erase(place.base, place.job);
    fits_at_[track.group_of(place.width)] = passed.empty() ? kNobody : 0;
    --num_passed_;
  }
}

void KineticChoice::add(JobId job, const KeyLine& line, bool is_taken, bool is_left) {
  const std::uint32_t slot = state_->record(job).slot;
  const std::int32_t gpus = state_->jobs().gpus(job);
  if (slot >= places_.size()) places_.resize(slot + 1);
  Place& place = places_[slot];
  (void)product(line);
  if (line.is_loose) {
    has_loose_ = true;
    is_inexact_ = is_inexact_ || state_->work(job) >= kLooseWork;
  }
  const Kind kind = line.is_unbounded ? kUnbounded
                    : line.is_loose   ? kLoose
                    : line.slope == 0 ? kStill
                                      : kMoving;
  place.job = job;
  place.track = track_of(kind, line.factor, gpus, line.slope, is_left);
  place.width = width_at_[static_cast<std::size_t>(gpus)];
  place.is_taken = is_taken;
  place.base = tracks_[place.track].base(line.value, state_->now(), is_taken);
  ++place.stamp;
  put(place, gpus);
  if (line.until != kNever) bends_.push({line.until, slot, place.stamp});
}

bool KineticChoice::remove_running(std::uint32_t slot) {
  Place& place = places_[slot];
  take_out(place);
  place.job = kNoJob;
  return is_kept(slot);
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

/// GPUs that a candidate of this width lacks to be taken.
std::int64_t KineticChoice::lacking(int gpus, const Key& key) {
  const std::int64_t missing = gpus - (num_gpus_ - total_);
  if (missing <= 0) return 0;
  return std::max(std::int64_t{0}, missing - taken_from(key, missing));
}

void KineticChoice::take(const Candidate& candidate) {
  // A filling serves later.
  const bool is_left = rule_ == ChoiceRule::filling || rule_ == ChoiceRule::strict_filling;
  if (candidate.waiting == JobClasses::kNoClass) {
    Place& place = places_[state_->record(candidate.key.job).slot];
    take_out(place);
    set_side(place, true);
    place.rejoined = num_settled_;
    if (is_left) {
      place.track = other_side(place.track);
    } else {
      moved_.emplace_back(place.job, true);
    }
    put(place, candidate.gpus);
    return;
  }
  const Key job = candidate.key;
  pop_head(candidate.waiting);
  const std::int64_t factor = factor_of_[candidate.waiting];
  const std::uint16_t track = track_of(kAsked, factor, candidate.gpus, 0, is_left);
  tracks_[track].taken.insert({Time{job.value / factor}, job.job, candidate.gpus});
  count(track, job.job, 1);
}

std::pair<std::uint16_t, RunningIndex::Entry> KineticChoice::reach_from_last(std::int64_t enough) {
  cursors_.clear();
  for (const Track& track : tracks_) {
    if (track.is_loose) sharpen_last(track, enough);
    cursors_.push_back(track.taken.last());
  }
  for (std::int64_t sum = 0;;) {
    std::size_t greatest = tracks_.size();
    Key key{};
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      if (!cursors_[i].is_valid()) continue;
      const Key own = key_of(tracks_[i], tracks_[i].taken.at(cursors_[i]));
      if (greatest != tracks_.size() && own < key) continue;
      greatest = i;
      key = own;
    }
    const RunningIndex::Entry entry = tracks_[greatest].taken.at(cursors_[greatest]);
    sum += entry.gpus;
    if (sum >= enough) return {static_cast<std::uint16_t>(greatest), entry};
    tracks_[greatest].taken.step_back(cursors_[greatest]);
  }
}

/// A job that was taken is so no longer.
void KineticChoice::pass_over(std::uint16_t track, const RunningIndex::Entry& entry) {
  if (tracks_[track].is_asked) {
    const Key job = key_of(tracks_[track], entry);
    tracks_[track].taken.erase(entry.end, entry.job);
    count(track, entry.job, -1);
    push_waiting(state_->classes().of(entry.job), job);
    return;
  }
  Place& place = places_[state_->record(entry.job).slot];
  take_out(place);
  set_side(place, false);
  if (tracks_[track].is_left) {
    place.track = other_side(track);
  } else {
    moved_.emplace_back(entry.job, false);
    has_left_ = has_left_ || place.rejoined != num_settled_;
  }
  put(place, entry.gpus);
}

void KineticChoice::asked(std::vector<Key>& out) const {
  out.clear();
  std::size_t num_tracks = 0;
  for (const Track& track : tracks_) {
    if (!track.is_asked || track.is_left || track.taken.empty()) continue;
    track.taken.for_each(
        [&](const RunningIndex::Entry& entry) { out.push_back(key_of(track, entry)); });
    ++num_tracks;
  }
  if (num_tracks > 1) std::sort(out.begin(), out.end());
}

void KineticChoice::passed_over(std::vector<Key>& out) const {
  out.clear();
  if (!has_passed_over()) return;
  for (const Track& track : tracks_) {
    if (track.is_left && !track.is_asked) {
      track.taken.for_each(
          [&](const RunningIndex::Entry& entry) { out.push_back(key_of(track, entry)); });
    }
    for (const RunningIndex& passed : track.passed) {
      passed.for_each(
          [&](const RunningIndex::Entry& entry) { out.push_back(key_of(track, entry)); });
    }
  }
  std::sort(out.begin(), out.end());
}

bool KineticChoice::is_kept(std::uint32_t slot) const noexcept {
  return places_[slot].is_taken && !tracks_[places_[slot].track].is_left;
}

bool KineticChoice::has_rising_keys() const noexcept {
  return std::any_of(tracks_.begin(), tracks_.end(),
                     [](const Track& track) { return track.slope > 0 && !track.taken.empty(); });
}

std::vector<JobId> KineticChoice::drain_waiting() {
  std::vector<JobId> jobs;
  for (auto& queue : waiting_) {
    for (; !queue.empty(); queue.pop()) jobs.push_back(queue.top().job);
  }
  for (const Track& track : tracks_) {
    if (!track.is_asked) continue;
    track.taken.for_each([&](const RunningIndex::Entry& entry) { jobs.push_back(entry.job); });
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

}  // namespace gpusched
