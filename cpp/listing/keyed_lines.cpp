#include "listing/keyed_lines.hpp"

namespace gpusched {

void KeyedLines::begin(const JobClasses& classes) {
  classes_ = &classes;
  lines_.assign(classes.num_classes(), {});
  heads_.assign(classes.num_classes(), kNoKeyedJob);
  is_refused_.assign(classes.num_classes(), 0);
  tree_.begin(classes);
  moved_.clear();
  held_.clear();
}

void KeyedLines::set_head(ClassId id, KeyedJob head) {
  heads_[id] = head;
  if (!tree_.empty()) tree_.update(id, leaves());
}

void KeyedLines::add(ClassId id, KeyedJob job) {
  lines_[id].insert(job);
  if (job < heads_[id]) set_head(id, job);
}

void KeyedLines::remove(ClassId id, KeyedJob job) {
  const auto next = lines_[id].erase(lines_[id].find(job));
  if (heads_[id].job == job.job) set_head(id, next);
}

KeyedJob KeyedLines::next(std::span<const std::int64_t> widest, ClassId& id) const {
  KeyedJob best = kNoKeyedJob;
  for (std::size_t i = 0; i < widest.size(); ++i) {
    const JobClasses::Group& group = classes_->groups()[i];
    if (!tree_.empty()) {
      ClassId at = 0;
      const auto fits = [](ClassId) { return true; };
      const KeyedJob least =
          tree_.least(leaves(), group.begin, group.end, ClassTree::Most{widest[i]}, fits, at);
      if (!(least < best)) continue;
      best = least;
      id = at;
      continue;
    }
    for (ClassId at = group.begin; at < group.end && classes_->room(at) <= widest[i]; ++at) {
      if (!(heads_[at] < best)) continue;
      best = heads_[at];
      id = at;
    }
  }
  return best;
}

void KeyedLines::pass(ClassId id) {
  moved_.push_back(id);
  set_head(id, lines_[id].upper_bound(heads_[id]));
}

void KeyedLines::close(ClassId id) {
  moved_.push_back(id);
  set_head(id, kNoKeyedJob);
}

void KeyedLines::hold(ClassId id) {
  held_.push_back(id);
  close(id);
}

void KeyedLines::start(ClassId id) {
  const KeyedJob job = heads_[id];
  moved_.push_back(id);
  set_head(id, lines_[id].erase(lines_[id].find(job)));
  for (const ClassId other : held_) set_head(other, lines_[other].upper_bound(job));
  held_.clear();
}

void KeyedLines::end_walk() {
  for (const ClassId id : moved_) set_head(id, lines_[id].begin());
  moved_.clear();
  held_.clear();
}

}  // namespace gpusched
