#include "queueing/typed_reservations.hpp"

#include <algorithm>
#include <iterator>

#include "model/job_classes.hpp"

namespace gpusched {
namespace {

constexpr bool has(TypeMask types, std::size_t type) noexcept { return (types >> type & 1) != 0; }

}  // namespace

void DealtGpus::begin(std::span<const TypeMask> sets, int num_types) {
  num_types_ = static_cast<std::size_t>(num_types);
  sets_.assign(sets.begin(), sets.end());
  sets_.push_back(0);
  from_.resize(num_types_);
  by_.resize(num_types_);
}

bool DealtGpus::leaves(std::span<const std::int64_t> free, std::span<const std::int64_t> wanted,
                       std::size_t set, std::int64_t gpus) {
  // What all who may take of these types want is mostly enough to know, or not even that.
  std::int64_t most = 0;
  for (std::size_t type = 0; type < num_types_; ++type) {
    if (has(sets_[set], type)) most += free[type];
  }
  if (most < gpus) return false;
  for (std::size_t who = 0; who < wanted.size(); ++who) {
    if ((sets_[who] & sets_[set]) != 0) most -= wanted[who];
  }
  if (most >= gpus) return true;
  sets_.back() = sets_[set];
  left_.assign(free.begin(), free.end());
  given_.assign(sets_.size() * num_types_, 0);
  for (std::size_t who = 0; who < wanted.size(); ++who) static_cast<void>(deal(who, wanted[who]));
  return deal(wanted.size(), gpus) == gpus;
}

std::int64_t DealtGpus::deal(std::size_t who, std::int64_t wanted) {
  std::int64_t dealt = 0;
  while (dealt < wanted) {
    const std::size_t end = find_free(who);
    if (end == num_types_) break;
    std::int64_t amount = std::min(wanted - dealt, left_[end]);
    for (std::size_t type = end; from_[type] != num_types_; type = from_[type]) {
      amount = std::min(amount, given(by_[type], from_[type]));
    }
    left_[end] -= amount;
    for (std::size_t type = end;; type = from_[type]) {
      given(by_[type], type) += amount;
      if (from_[type] == num_types_) break;
      given(by_[type], from_[type]) -= amount;
    }
    dealt += amount;
  }
  return dealt;
}

/// The nearest type of which some are left; the number of types if there is none.
std::size_t DealtGpus::find_free(std::size_t who) {
  TypeMask seen = 0;
  reached_.clear();
  const auto reach = [&](std::size_t by, std::size_t from) {
    for (std::size_t type = 0; type < num_types_; ++type) {
      if (!has(sets_[by] & ~seen, type)) continue;
      seen |= TypeMask{1} << type;
      by_[type] = by;
      from_[type] = from;
      reached_.push_back(type);
    }
  };
  reach(who, num_types_);
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::size_t type = reached_[i];
    if (left_[type] > 0) return type;
    for (std::size_t other = 0; other < sets_.size(); ++other) {
      if (given(other, type) > 0) reach(other, type);
    }
  }
  return num_types_;
}

void TypedReservations::begin(const State& state) {
  state_ = &state;
  sets_ = type_sets(state);
  dealt_.begin(sets_, state.cluster().num_types());
  held_.clear();
  size_.clear();
  for (int type = 0; type < state.cluster().num_types(); ++type) {
    size_.push_back(state.cluster().gpus_of(TypeMask{1} << type));
  }
}

std::vector<TypeMask> TypedReservations::type_sets(const State& state) {
  std::vector<TypeMask> sets;
  for (const JobClasses::Group& group : state.classes().groups()) {
    const TypeMask types = group.types & state.cluster().all_types();
    if (std::find(sets.begin(), sets.end(), types) == sets.end()) sets.push_back(types);
  }
  return sets;
}

std::size_t TypedReservations::set_of(JobId job) const {
  const TypeMask types = state_->jobs().types(job) & state_->cluster().all_types();
  return static_cast<std::size_t>(std::find(sets_.begin(), sets_.end(), types) - sets_.begin());
}

Time TypedReservations::first() const {
  Time first = kNever;
  for (const auto& [job, at] : held_) first = std::min(first, at);
  return first;
}

std::vector<TypedReservations::Held> TypedReservations::pop() {
  const Time first = this->first();
  std::vector<Held> all;
  std::erase_if(held_, [&](const auto& each) {
    if (each.second != first) return false;
    all.push_back({each.first, each.second});
    return true;
  });
  return all;
}

void TypedReservations::reserve(const RunningIndex& running, std::span<const JobId> waiting,
                                std::span<const JobId> arrived, bool is_early,
                                const RunControl& control) {
  lay_out(running, waiting);
  if (is_early) {
    for (auto& [job, at] : held_) {
      control.check();
      claim(job, at, -1);
      at = std::min(at, earliest(job));
      claim(job, at, 1);
    }
  }
  for (const JobId job : arrived) {
    control.check();
    const Time at = earliest(job);
    claim(job, at, 1);
    held_.emplace(job, at);
  }
}

void TypedReservations::lay_out(const RunningIndex& running, std::span<const JobId> waiting) {
  const Time now = state_->now();
  const Cluster& cluster = state_->cluster();
  // Every change at its instant, and then the sums.
  steps_.clear();
  const auto changes_at = [&](Time at) -> Step& {
    Step& step = steps_[at];
    step.held.resize(static_cast<std::size_t>(cluster.num_types()));
    step.wanted.resize(sets_.size());
    return step;
  };
  Step& present = changes_at(now);
  running.for_each([&](const RunningIndex::Entry& run) {
    Step& last = changes_at(std::max(run.end, now + kTick));
    for (const Piece& piece : state_->slot(run.job).pieces) {
      const auto type = static_cast<std::size_t>(cluster.type(piece.server));
      present.held[type] += piece.gpus;
      last.held[type] -= piece.gpus;
    }
  });
  const auto want = [&](JobId job, Time at) {
    const std::size_t set = set_of(job);
    changes_at(at).wanted[set] += state_->jobs().gpus(job);
    changes_at(at + state_->jobs().estimate(job)).wanted[set] -= state_->jobs().gpus(job);
  };
  for (const JobId job : waiting) want(job, now);
  for (const auto& [job, at] : held_) want(job, at);
  const auto add = [](std::vector<std::int64_t>& to, const std::vector<std::int64_t>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  for (auto step = std::next(steps_.begin()); step != steps_.end(); ++step) {
    add(step->second.held, std::prev(step)->second.held);
    add(step->second.wanted, std::prev(step)->second.wanted);
  }
}

std::map<Time, TypedReservations::Step>::iterator TypedReservations::step_at(Time at) {
  const auto after = steps_.upper_bound(at);
  const auto before = std::prev(after);
  return before->first == at ? before : steps_.emplace_hint(after, at, before->second);
}

void TypedReservations::claim(JobId job, Time begin, int sign) {
  const std::size_t set = set_of(job);
  const std::int64_t gpus = sign * state_->jobs().gpus(job);
  const auto end = step_at(begin + state_->jobs().estimate(job));
  for (auto step = step_at(begin); step != end; ++step) step->second.wanted[set] += gpus;
}

Time TypedReservations::earliest(JobId job) {
  const std::size_t set = set_of(job);
  const std::int64_t gpus = state_->jobs().gpus(job);
  const Time length = state_->jobs().estimate(job);
  Time since = kNever;
  for (const auto& [at, step] : steps_) {
    if (since != kNever && at - since >= length) break;
    free_.clear();
    for (std::size_t type = 0; type < step.held.size(); ++type) {
      // GPUs that shares are taken of may count more than once.
      free_.push_back(std::max<std::int64_t>(0, size_[type] - step.held[type]));
    }
    if (!dealt_.leaves(free_, step.wanted, set, gpus)) {
      since = kNever;
    } else if (since == kNever) {
      since = at;
    }
  }
  return since;
}

}  // namespace gpusched
