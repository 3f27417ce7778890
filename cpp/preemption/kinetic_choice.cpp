#include "preemption/kinetic_choice.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "seams/order.hpp"

namespace gpusched {
namespace {

/// Products of a double's precision are exact below it.
constexpr std::int64_t kMostExact = std::int64_t{1} << 53;
/// For jobs with more work than this, rounding is too coarse for the bounds of loose lines.
constexpr double kLooseWork = std::int64_t{1} << 50;
/// More widths than this are too many if they outnumber the jobs that can run at once: each is
/// visited, and has its own line of running jobs in some orders.
constexpr std::int64_t kFewWidths = 256;
constexpr std::int64_t kMostWidths = 8192;
/// More than is ever given up: forces every earlier judgement to be redone.
constexpr std::int64_t kForget = std::numeric_limits<std::int64_t>::max() - 1;

}  // namespace

void KineticChoice::begin(const Setup& setup, ChoiceRule rule, Order& order) {
  const State& state = setup.state;
  const JobClasses& classes = state.classes();
  state_ = &state;
  order_ = &order;
  seed_ = setup.seed;
  rule_ = rule;
  num_gpus_ = state.gpus_up();
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
  has_many_classes_ = classes.num_classes() > ClassHeads::kFewClasses &&
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

/// The track of a selected waiting job: asked for, or left out of a filling's prefix.
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

/// Of a class: the first of the left-out jobs in a filling's prefix.
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

std::int64_t KineticChoice::find_last(std::int64_t enough) {
  last_.clear();
  cursors_.clear();
  for (const Track& track : tracks_) {
    if (track.is_loose) sharpen_last(track, enough);
    cursors_.push_back(track.taken.last());
  }
  std::int64_t sum = 0;
  while (sum < enough) {
    std::size_t greatest = tracks_.size();
    Key key{};
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      if (!cursors_[i].is_valid()) continue;
      const Key own = key_of(tracks_[i], tracks_[i].taken.at(cursors_[i]));
      if (greatest != tracks_.size() && own < key) continue;
      greatest = i;
      key = own;
    }
    const RunningIndex& taken = tracks_[greatest].taken;
    last_.emplace_back(greatest, taken.at(cursors_[greatest]));
    sum += last_.back().second.gpus;
    taken.step_back(cursors_[greatest]);
  }
  return sum;
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

bool KineticChoice::has_too_many_widths(const State& state) {
  std::vector<int> widths;
  for (ClassId id = 0; id < state.classes().num_classes(); ++id) {
    widths.push_back(state.classes().gpus(id));
  }
  std::sort(widths.begin(), widths.end());
  const auto num = std::unique(widths.begin(), widths.end()) - widths.begin();
  if (num <= kFewWidths || num > kMostWidths) return num > kMostWidths;
  const JobId num_jobs = state.jobs().num_jobs();
  std::int64_t gpus = 0;
  for (JobId job = 0; job < num_jobs; ++job) gpus += state.jobs().gpus(job);
  return num * gpus > state.gpus_up() * std::int64_t{num_jobs};
}

/// Groups of waiting jobs.
void KineticChoice::begin_groups() {
  groups_.clear();
  const std::size_t num_groups = has_many_classes_ ? widths_.size() : waiting_.size();
  for (std::uint32_t i = 0; i < num_groups; ++i) groups_.push_back({i, kNone, 0});
  fits_at_.assign(num_groups, kNobody);
}

/// Groups of the unselected running jobs of a track.
void KineticChoice::add_groups(std::uint16_t id) {
  Track& track = tracks_[id];
  track.passed.resize(track.factor == 1 ? widths_.size() : 1);
  for (std::uint16_t at = 0; at < track.passed.size(); ++at) groups_.push_back({0, id, at});
  fits_at_.resize(groups_.size(), kNobody);
}

void KineticChoice::begin_many_classes() {
  const JobClasses& classes = state_->classes();
  of_width_.assign(widths_.size(), {});
  for (ClassId id = 0; id < classes.num_classes(); ++id) {
    of_width_[width_at_[static_cast<std::size_t>(classes.gpus(id))]].classes.push_back(id);
  }
  heads_.begin(classes);
}

void KineticChoice::push_waiting(ClassId id, const Key& job) {
  waiting_[id].push(job);
  ++num_waiting_;
  if (least_[id].job == kNoJob || job < least_[id]) note_least(id);
}

void KineticChoice::pop_head(ClassId id) {
  waiting_[id].pop();
  --num_waiting_;
  note_least(id);
}

/// The first job of a class has changed.
void KineticChoice::note_least(ClassId id) {
  least_[id] = waiting_[id].empty() ? Key{0, kNoJob} : waiting_[id].top();
  if (has_many_classes_) {
    note_head(id);
    fits_at_[width_at_[static_cast<std::size_t>(state_->classes().gpus(id))]] = 0;
  } else {
    fits_at_[id] = least_[id].job == kNoJob ? kNobody : 0;
  }
}

/// Where classes are many: which job that is now.
void KineticChoice::note_head(ClassId id) {
  const bool is_empty = waiting_[id].empty();
  if (is_empty) heads_.forget_refusal(id);
  if (!heads_.is_closed(id)) {
    heads_.set(id, is_empty
                       ? kNoKeyedJob
                       : KeyedJob{exact_key(waiting_[id].top().value), waiting_[id].top().job});
  }
  if (is_empty) return;
  const auto gpus = static_cast<std::size_t>(state_->classes().gpus(id));
  WidthHeads& own = of_width_[width_at_[gpus]];
  if (own.heads.size() <= 2 * own.classes.size()) {
    own.heads.push({waiting_[id].top(), id});
    return;
  }
  own.heads.clear();
  for (const ClassId other : own.classes) {
    if (!waiting_[other].empty()) own.heads.push({waiting_[other].top(), other});
  }
}

const ClassHead* KineticChoice::least_of_width(std::size_t width) {
  Heap<ClassHead>& heads = of_width_[width].heads;
  for (; !heads.empty(); heads.pop()) {
    const ClassHead& head = heads.top();
    if (waiting_[head.id].empty()) continue;
    const Key& own = waiting_[head.id].top();
    if (own.job == head.key.job && own.value == head.key.value) return &head;
  }
  return nullptr;
}

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

/// Sets the bound of a running job to its current key; returns whether it changed.
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

/// The first unselected running job. Its sharp key bounds all others.
const RunningIndex::Entry& KineticChoice::first_passed(std::size_t track, std::size_t width) {
  const RunningIndex& passed = tracks_[track].passed[width];
  if (tracks_[track].is_unbounded) return least_of(tracks_[track], passed);
  while (tracks_[track].is_loose && sharpen(passed.front().job)) {
  }
  return passed.front();
}

/// Evaluates all keys: for few jobs that are not sorted by a lower bound.
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

/// GPUs of the selected jobs of a loose track that are not before `first`, which is without the
/// factor.
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

/// The first candidate with `lacks(key, gpus)` of 0: others need that many GPUs to be given up
/// first; candidates that need more than `given_up`, or are no better, are not evaluated.
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
    // Jobs with falling keys are judged again each time.
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

/// A candidate's shortage shrinks only as GPUs are given up: selected jobs free nothing, and a
/// selected job's rank does not worsen with time. If one does, everything is judged again at each
/// settlement.
void KineticChoice::settle_skipping() {
  if (has_rising_keys()) {
    std::replace_if(
        fits_at_.begin(), fits_at_.end(), [](std::int64_t at) { return at != kNobody; },
        std::int64_t{0});
  }
  for (;;) {
    const Candidate best =
        least_candidate(given_up_, [&](const Key& key, int gpus) { return lacking(gpus, key); });
    if (best.key.job == kNoJob) return;
    take(best);
    if (total_ <= num_gpus_) continue;
    // Deselects jobs that no longer fit, the first of them first, until the others do.
    std::int64_t behind = find_last(total_ - num_gpus_);
    for (auto job = last_.rbegin(); total_ > num_gpus_; ++job) {
      behind -= job->second.gpus;
      if (behind < total_ - num_gpus_) pass_over(job->first, job->second);
    }
  }
}

void KineticChoice::settle_strictly() {
  constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
  const auto pass_last = [&] {
    find_last(1);
    pass_over(last_[0].first, last_[0].second);
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

/// Selects the shortest prefix with as many GPUs as there are.
void KineticChoice::settle_prefix() {
  const auto pass_spare = [&] {
    while (total_ > num_gpus_) {
      find_last(1);
      if (total_ - last_[0].second.gpus < num_gpus_) break;
      pass_over(last_[0].first, last_[0].second);
    }
  };
  for (;;) {
    const Candidate best = first_candidate();
    if (best.key.job == kNoJob) break;
    const std::int64_t spare = total_ - num_gpus_;  // a candidate after this many is too late
    if (spare >= 0 && taken_from(best.key, spare + 1) <= spare) break;
    take(best);
    pass_spare();
  }
  pass_spare();  // jobs may have changed places among each other
}

/// Leaves out the last jobs of each width that exceed the budget after wider ones.
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

/// Serves the first jobs of a width, whose keys have it as their factor.
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

/// Moves a served job to the left-out ones, or back.
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
