#include "queueing/placeable_classes.hpp"

#include <algorithm>
#include <cstddef>

#include "placing/hosts.hpp"

namespace gpusched {
namespace {

/// Beyond this number of changes, calling the placement is as cheap; the log keeps as many.
constexpr std::uint64_t kManyChanges = 64;

}  // namespace

void PlaceableClasses::begin(const Setup& setup, const ClassHeads& heads) {
  placement_ = &setup.placement;
  remembers_ = heads.has_tree() && setup.state.jobs().has_demands() && placement_->is_per_server();
  end_walk(setup.state);
}

void PlaceableClasses::begin_walk(const State& state) {
  measure(state);
  if (!remembers_) return;
  const ChangeLog& changes = state.occupancy().changes();
  are_too_many_ = changes.num_changes() - seen_ > kManyChanges;
  changed_.clear();
  if (are_too_many_) return;
  for (std::uint64_t at = seen_; at < changes.num_changes(); ++at) {
    if (changes.is_last(at)) changed_.push_back(changes.server(at));
  }
}

void PlaceableClasses::measure(const State& state) {
  widest_.clear();
  for (const auto& group : state.classes().groups()) {
    widest_.push_back(placement_->widest(state.occupancy(), group.types));
  }
}

void PlaceableClasses::end_walk(const State& state) noexcept {
  if (remembers_) seen_ = state.occupancy().changes().num_changes();
}

bool PlaceableClasses::has_any(const ClassHeads& heads) const {
  ClassId id = 0;
  for (std::size_t i = 0; i < widest_.size(); ++i) {
    if (heads.least(heads.classes().groups()[i], {widest_[i]}, id).job != kNoJob) return true;
  }
  return false;
}

bool PlaceableClasses::can_host(const State& state, ClassId id) const noexcept {
  if (!remembers_ || are_too_many_) return true;
  const JobClasses& classes = state.classes();
  const int gpus = classes.gpus(id);
  const Ask ask{classes.types(id), gpus, false, *classes.demand(id), gpus};
  return std::any_of(changed_.begin(), changed_.end(), [&](ServerId server) {
    return gpusched::can_host(state.occupancy(), server, ask);
  });
}

KeyedJob PlaceableClasses::least(const ClassHeads& heads, const State& state, ClassId& id,
                                 std::int64_t spare, std::int64_t longest) const {
  ClassHeads::Limit limit{.room = 0, .spare = spare, .longest = longest};
  if (remembers_ && !are_too_many_) {
    limit.cpu_milli = limit.memory_mib = 0;
    for (const ServerId server : changed_) {
      limit.cpu_milli = std::max(limit.cpu_milli, state.occupancy().free_cpu_milli(server));
      limit.memory_mib = std::max(limit.memory_mib, state.occupancy().free_memory_mib(server));
    }
  }
  const auto fits = [&](ClassId refused) { return can_host(state, refused); };
  KeyedJob best = kNoKeyedJob;
  for (std::size_t i = 0; i < widest_.size(); ++i) {
    limit.room = widest_[i];
    ClassId at = 0;
    const KeyedJob head = heads.least(heads.classes().groups()[i], limit, fits, at);
    if (!(head < best)) continue;
    best = head;
    id = at;
  }
  return best;
}

}  // namespace gpusched
