#include <algorithm>

#include "preemption/kinetic_choice.hpp"
#include "seams/order.hpp"

namespace gpusched {
namespace {

/// More widths than this are too many where they outnumber the jobs that can run at once, and beyond
/// the most in any case: each is looked at, and has a line of running jobs of its own in some orders.
constexpr std::int64_t kFewWidths = 256;
constexpr std::int64_t kMostWidths = 8192;

}  // namespace

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
  return num * gpus > state.cluster().num_gpus() * std::int64_t{num_jobs};
}

/// Of those that wait.
void KineticChoice::begin_groups() {
  groups_.clear();
  const std::size_t num_groups = has_many_classes_ ? widths_.size() : waiting_.size();
  for (std::uint32_t i = 0; i < num_groups; ++i) groups_.push_back({i, kNone, 0});
  fits_at_.assign(num_groups, kNobody);
}

/// Of those of a track that are passed over.
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
  heads_.assign(classes.num_classes(), kNoKeyedJob);
  is_refused_.assign(classes.num_classes(), 0);
  is_closed_.assign(classes.num_classes(), 0);
  closed_.clear();
  tree_.begin(classes);
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

/// The least job of a class has come, or has gone.
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
  if (is_empty) is_refused_[id] = 0;
  const bool is_shown = !is_empty && is_closed_[id] == 0;
  heads_[id] = is_shown ? KeyedJob{exact_key(waiting_[id].top().value), waiting_[id].top().job}
                        : kNoKeyedJob;
  tree_.update(id, {heads_, is_refused_});
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

void KineticChoice::close(ClassId id, bool is_refused) {
  is_closed_[id] = 1;
  is_refused_[id] = is_refused ? 1 : 0;
  closed_.push_back(id);
  heads_[id] = kNoKeyedJob;
  tree_.update(id, {heads_, is_refused_});
}

void KineticChoice::reopen() {
  for (const ClassId id : closed_) {
    is_closed_[id] = 0;
    if (!waiting_[id].empty()) note_head(id);
  }
  closed_.clear();
}

}  // namespace gpusched
