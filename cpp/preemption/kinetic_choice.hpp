#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "base/clone.hpp"
#include "base/heap.hpp"
#include "base/ids.hpp"
#include "base/time.hpp"
#include "model/job_classes.hpp"
#include "queueing/class_heads.hpp"
#include "queueing/keyed_job.hpp"
#include "queueing/running_index.hpp"
#include "seams/order.hpp"
#include "seams/scheduler.hpp"

namespace gpusched {

/// On which jobs a budget of GPUs is spent, in the order of keys.
enum class ChoiceRule : std::uint8_t {
  skip,            ///< each that fits the rest of the budget
  strict,          ///< those before the first that does not
  filling,         ///< of the shortest prefix that could fill the budget, widest first, as skip
  strict_filling,  ///< and that, widest first, as strict
};

/// A key at the present instant. The job of a lesser one goes first.
struct KineticKey {
  std::int64_t value;
  JobId job;

  friend bool operator<(const KineticKey& a, const KineticKey& b) noexcept {
    return a.value != b.value ? a.value < b.value : a.job < b.job;
  }
};

/// Jobs with parallel keys: factor * (base + slope * now), sorted by base. On loose lines these are
/// bounds instead: upper bounds on the keys of selected jobs, and lower bounds on those of
/// unselected running ones.
struct KineticTrack {
  std::int64_t factor;
  int slope;
  bool is_asked;  // of jobs that wait
  bool is_left;   // of jobs that a filling's prefix has and its budget does not reach
  bool is_loose;
  bool is_unbounded;  // and keys fall: unselected jobs have no bound
  RunningIndex taken;
  std::vector<RunningIndex> passed;  // by `passed_at`, of those that change sides alike
  std::size_t first_group;           // of those that were passed over

  [[nodiscard]] int slope_of(bool is_taken) const noexcept {
    if (!is_loose) return slope;
    return kMostLoose * (is_taken ? std::max(0, slope) : std::min(0, slope));
  }
  /// The sort position of a job with a known current key, without its factor.
  [[nodiscard]] Time base(std::int64_t value, Time now, bool is_taken) const noexcept {
    if (is_unbounded && !is_taken) return Time{0};
    return Time{value} - slope_of(is_taken) * now;
  }

  /// If the width is the factor of the keys, there is only one.
  [[nodiscard]] std::uint16_t passed_at(std::uint16_t width) const noexcept {
    return factor == 1 ? width : std::uint16_t{0};
  }
  [[nodiscard]] std::size_t group_of(std::uint16_t width) const noexcept {
    return first_group + passed_at(width);
  }
};

/// Unselected jobs, all ordered after the first: the waiting ones of a class (or of a width, if
/// classes are many), or the unselected running ones of a track and a width.
struct KineticGroup {
  std::uint32_t waiting;
  std::uint16_t track;
  std::uint16_t width;
};

/// An unselected job: the first waiting one of a class, or the first unselected running one of a
/// track and a width.
struct KineticCandidate {
  KineticKey key{0, kNoJob};
  int gpus = 0;
  ClassId waiting = JobClasses::kNoClass;
  std::uint16_t track = 0;
  std::uint16_t width = 0;
};

/// Where a running job is kept, by its slot.
struct KineticPlace {
  Time base;
  JobId job = kNoJob;
  std::uint32_t stamp = 0;  // counts what the slot was given
  std::uint16_t track = 0;
  std::uint16_t width = 0;
  bool is_taken = false;
  std::uint64_t rejoined = 0;  // the settlement at which it was last taken again
};

/// The instant at which the line of a slot bends.
struct KineticBend {
  Time at;
  std::uint32_t slot;
  std::uint32_t stamp;

  friend bool operator<(const KineticBend& a, const KineticBend& b) noexcept {
    return a.at != b.at ? a.at < b.at : a.slot < b.slot;
  }
};

/// The first waiting job of a class that is not selected.
struct ClassHead {
  KineticKey key;
  ClassId id;

  friend bool operator<(const ClassHead& a, const ClassHead& b) noexcept { return a.key < b.key; }
};

/// The classes of one width by their least jobs; those of old may still be among them.
struct WidthHeads {
  Heap<ClassHead> heads;
  std::vector<ClassId> classes;
};

/// Selects the active jobs on which a budget of GPUs is spent, for keys that are linear in time.
/// Running jobs with one slope keep their order, so the choice stays valid over time except where
/// jobs overtake others, and a settlement touches only jobs that change sides. On loose lines it
/// evaluates keys only of the jobs that their bounds allow to be the last selected, or the first
/// unselected.
///
/// A job is *asked for* if it is selected and waits, *passed over* if it runs and is not selected.
class KineticChoice {
 public:
  using Key = KineticKey;

  /// Whether a walk over all jobs costs less.
  [[nodiscard]] static bool has_too_many_widths(const State& state);
  /// The order outlives the choice.
  void begin(const Setup& setup, ChoiceRule rule, Order& order);

  /// A waiting job that is not taken yet; its line has no slope. Its key.
  Key add_waiting(JobId job, const KeyLine& line);
  /// Removes waiting jobs, asked for or not.
  void remove_waiting(std::vector<Key> jobs);
  /// The same of one that is taken back, whatever its key is.
  void withdraw(JobId job);
  /// A running job, in its slot.
  void add_running(JobId job, const KeyLine& line, bool is_taken) {
    add(job, line, is_taken, false);
  }
  /// A running job that ended, or stopped while `slot` is still its own; whether it was taken.
  bool remove_running(std::uint32_t slot);
  /// A job that was asked for starts to run; its line as that of `add_running`.
  void start_asked(const Key& job, const KeyLine& line);
  /// Removes the job that `least_waiting` returns.
  Key pop_waiting(ClassId id);

  /// Redraws lines that have bent by now; returns whether there were any.
  bool straighten();
  /// The next bend; kNever if there is none.
  [[nodiscard]] Time next_bend();

  /// Whether nothing can change in the choice now but for jobs that come.
  [[nodiscard]] bool is_settled() const noexcept;
  [[nodiscard]] bool has_room(int gpus) const noexcept { return gpus <= num_gpus_ - total_; }
  /// Updates the choice; returns whether a running job was deselected. `moved()` then has the
  /// running jobs that changed sides, in order, and whether they are selected.
  bool settle();
  [[nodiscard]] std::span<const std::pair<JobId, bool>> moved() const noexcept { return moved_; }
  /// The key of the running job in a slot.
  [[nodiscard]] Key key_of_running(std::uint32_t slot) const {
    const Place& place = places_[slot];
    return key_of(tracks_[place.track], {place.base, place.job, 0});
  }

  [[nodiscard]] std::size_t num_waiting() const noexcept {
    return num_waiting_ + num_asked_ + num_left_waiting_;
  }
  /// Whether waiting jobs are not asked for.
  [[nodiscard]] bool has_unasked() const noexcept { return num_waiting_ + num_left_waiting_ > 0; }
  [[nodiscard]] std::size_t num_asked() const noexcept { return num_asked_; }
  [[nodiscard]] std::size_t num_asked(ClassId id) const noexcept { return asked_of_[id]; }
  [[nodiscard]] bool has_passed_over() const noexcept {
    return num_passed_ + num_left_running_ > 0;
  }
  /// The first unselected waiting job of a class; kNoJob if there is none.
  [[nodiscard]] Key least_waiting(ClassId id) const {
    return num_left_waiting_ == 0 ? least_[id] : least_waiting_or_left(id);
  }
  /// If classes are many and there is no filling: the waiting jobs that are not asked for, in a
  /// tree in which a class can be closed.
  [[nodiscard]] bool has_many_classes() const noexcept { return has_many_classes_; }
  [[nodiscard]] const ClassHeads& heads() const noexcept { return heads_; }
  /// `is_refused`: that it was refused is known until it is empty.
  void close(ClassId id, bool is_refused) { heads_.close(id, is_refused); }
  void reopen() {
    heads_.reopen([this](ClassId id) { note_head(id); });
  }
  /// Both in the order of keys.
  void asked(std::vector<Key>& out) const;
  void passed_over(std::vector<Key>& out) const;
  /// The running jobs that are taken and come after the key, in the order of keys.
  void taken_after(const Key& key, std::vector<Key>& out) const;
  /// Whether the running job in a slot is taken, and served where a filling is done.
  [[nodiscard]] bool is_kept(std::uint32_t slot) const noexcept;
  /// Whether a running job that is taken comes later as time passes.
  [[nodiscard]] bool has_rising_keys() const noexcept;
  /// Removes all waiting jobs, asked for or not, by JobId, for a successor.
  [[nodiscard]] std::vector<JobId> drain_waiting();

  /// Whether a key was so great that the one that is calculated with rounding may compare
  /// otherwise.
  [[nodiscard]] bool is_inexact() const noexcept {
    return is_inexact_ || (has_loose_ && state_->now() > kLastLoose);
  }

 private:
  enum Kind : std::uint8_t { kAsked, kStill, kMoving, kLoose, kUnbounded, kNumKinds };

  using Track = KineticTrack;
  using Place = KineticPlace;
  using Bend = KineticBend;
  using Candidate = KineticCandidate;

  static constexpr std::uint16_t kNone = 0xffff;
  static constexpr std::int64_t kNobody = std::numeric_limits<std::int64_t>::max();
  /// Bounds that move by kMostLoose a tick are within what a Time holds until then.
  static constexpr Time kLastLoose{kMaxTicks / (2 * kMostLoose)};

  void begin_many_classes();
  void push_waiting(ClassId id, const Key& job);
  [[nodiscard]] std::uint16_t track_of_asked(const Key& job, bool is_left);
  void remove_from(std::uint16_t track, const Key& job);
  [[nodiscard]] bool remove_taken_waiting(const Key& job);
  void pop_head(ClassId id);
  void note_least(ClassId id);
  void note_head(ClassId id);
  /// Null where no job of the width waits that is not taken.
  [[nodiscard]] const ClassHead* least_of_width(std::size_t width);
  [[nodiscard]] std::uint16_t track_of(Kind kind, std::int64_t factor, int gpus, int slope,
                                       bool is_left);
  /// The track of the left-out jobs, given that of the served ones, or vice versa.
  [[nodiscard]] std::uint16_t other_side(std::uint16_t track);
  void begin_groups();
  void add_groups(std::uint16_t track);
  void add(JobId job, const KeyLine& line, bool is_taken, bool is_left);
  [[nodiscard]] Key key_of(const Track& track, const RunningIndex::Entry& entry) const;
  [[nodiscard]] Key bound_of(const Track& track, const RunningIndex::Entry& entry) const noexcept;
  [[nodiscard]] KeyLine line(JobId job) const;
  [[nodiscard]] std::int64_t value_of(JobId job) const;
  bool sharpen(JobId job);
  void sharpen_all(std::span<const JobId> jobs);
  [[nodiscard]] const RunningIndex::Entry& first_passed(std::size_t track, std::size_t width);
  [[nodiscard]] const RunningIndex::Entry& least_of(const Track& track,
                                                    const RunningIndex& jobs) const;
  void sharpen_last(const Track& track, std::int64_t enough);
  [[nodiscard]] std::int64_t taken_loosely_from(const Track& track, const Key& first,
                                                std::int64_t enough);
  [[nodiscard]] std::int64_t product(const KeyLine& line);
  [[nodiscard]] std::int64_t taken_from(const Key& key, std::int64_t enough);
  [[nodiscard]] std::int64_t lacking(int gpus, const Key& key);
  [[nodiscard]] Candidate first_of(const KineticGroup& group);
  template <class Lacks>
  [[nodiscard]] Candidate least_candidate(std::int64_t given_up, Lacks lacks);
  [[nodiscard]] Candidate first_candidate();
  void take(const Candidate& candidate);
  /// Finds the last taken jobs that have `enough` GPUs, the last first; how many these have.
  std::int64_t find_last(std::int64_t enough);
  void pass_over(std::uint16_t track, const RunningIndex::Entry& entry);
  void settle_skipping();
  void settle_strictly();
  void settle_prefix();
  void serve_widest_first();
  void serve(std::size_t width, std::int64_t num_served);
  void change_side(std::uint16_t track, const RunningIndex::Entry& entry);
  [[nodiscard]] std::uint16_t track_of_last(std::size_t at, Key& key);
  [[nodiscard]] std::uint16_t track_of_first_left(std::size_t at, Key& key,
                                                  RunningIndex::Entry& entry) const;
  [[nodiscard]] Key least_waiting_or_left(ClassId id) const;
  [[nodiscard]] Key least_left(ClassId id) const;
  void count(std::uint16_t track, JobId job, int sign);
  void put(const Place& place, std::int32_t gpus);
  void take_out(const Place& place);
  void set_side(Place& place, bool is_taken);

  Ref<const State> state_;
  Ref<Order> order_;
  std::uint64_t seed_ = 0;
  std::int64_t num_gpus_ = 0;
  std::int64_t total_ = 0;     // of the taken jobs
  std::int64_t given_up_ = 0;  // all in all, by jobs that were taken and are so no longer
  ChoiceRule rule_ = ChoiceRule::skip;
  std::vector<std::uint16_t> width_at_;  // index of a width among the widths
  std::vector<int> widths_;              // descending
  std::vector<std::int64_t> num_taken_;  // by index of the width, including left-out jobs
  std::vector<Track> tracks_;
  std::vector<KineticGroup> groups_;
  // By group: its first cannot be selected before this many GPUs have been given up.
  std::vector<std::int64_t> fits_at_;
  // By kind: keys without a factor, then by index of the width that is the factor.
  std::vector<std::uint16_t> track_at_[kNumKinds];
  std::vector<std::uint16_t> left_at_[kNumKinds];
  std::vector<Place> places_;
  // By class: unselected waiting jobs, the number asked for, the factor of their keys.
  std::vector<RunHeap<Key>> waiting_;
  std::vector<Key> least_;  // of those in `waiting_`; kNoJob if there is none
  std::vector<std::size_t> asked_of_;
  std::vector<std::int64_t> factor_of_;
  bool has_many_classes_ = false;
  std::vector<WidthHeads> of_width_;  // with many classes only, as the next
  ClassHeads heads_;
  std::size_t num_waiting_ = 0;
  std::size_t num_asked_ = 0;
  std::size_t num_left_waiting_ = 0;
  std::size_t num_left_running_ = 0;
  std::vector<std::int64_t> num_left_;  // by index of the width
  std::size_t num_passed_ = 0;
  Heap<Bend> bends_;
  std::vector<RunningIndex::Cursor> cursors_;
  std::vector<std::pair<std::uint16_t, RunningIndex::Entry>> last_;  // taken jobs, by track
  std::vector<JobId> blunt_;  // whose bounds are no longer their keys
  bool has_loose_ = false;
  bool is_inexact_ = false;
  std::vector<std::pair<JobId, bool>> moved_;
  bool has_left_ = false;  // whether a selected running job was deselected in this settlement
  std::uint64_t num_settled_ = 0;
};

}  // namespace gpusched
