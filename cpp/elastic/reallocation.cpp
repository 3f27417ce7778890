#include "elastic/reallocation.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.hpp"
#include "base/infinity.hpp"
#include "placing/placement_parts.hpp"

namespace gpusched {
namespace {

void acquire(Occupancy& free, const State& state, JobId job, const Allocation& allocation) {
  free.acquire(allocation.gpus, allocation.pieces, state.jobs().demand(job));
}

void release(Occupancy& free, const State& state, const Slot& run) {
  free.release(run.gpus, run.pieces, state.jobs().demand(run.job));
}

/// A server beyond these is seldom better.
constexpr std::size_t kMostCleared = 16;
/// Cost of placing one job, in steps of a simple loop.
constexpr std::size_t kStepsOfMove = 100;
/// Size of the first batch of jobs that could make room: usually a few suffice.
constexpr std::size_t kFewMovable = 64;
/// Cost of comparing one job's allocation with its target.
constexpr std::size_t kStepsOfLook = 10;

std::size_t index_of(ServerId server) noexcept { return static_cast<std::size_t>(server); }

bool is_smaller(const Slot* a, const Slot* b) noexcept {
  return a->gpus != b->gpus ? a->gpus < b->gpus : a->job < b->job;
}

[[nodiscard]] bool is_same(const Slot& run, const Allocation& allocation) {
  return run.gpus == allocation.gpus && run.pieces == allocation.pieces;
}

}  // namespace

void parts_of(const Cluster& cluster, int gpus, std::span<const Piece> pieces,
              std::vector<Part>& out) {
  out.clear();
  if (pieces.empty()) out.push_back({0, gpus});
  for (const Piece& piece : pieces) {
    const int type = cluster.type(piece.server);
    const auto part =
        std::find_if(out.begin(), out.end(), [&](const Part& known) { return known.type == type; });
    if (part == out.end()) {
      out.push_back({type, piece.gpus});
    } else {
      part->gpus += piece.gpus;
    }
  }
  std::sort(out.begin(), out.end(), [](const Part& a, const Part& b) { return a.type < b.type; });
}

void Reallocation::begin(const Setup& setup, StopCheck* stop) {
  placement_ = &setup.placement;
  stop_ = stop != nullptr ? stop : &own_stop_.emplace(setup.control);
  clear();
  refused_.clear();
  moved_.clear();
}

void Reallocation::add(JobId job, std::span<const Part> parts) {
  const auto begin = static_cast<std::uint32_t>(parts_.size());
  int gpus = 0;
  for (const Part& part : parts) {
    if (part.gpus < 1 || (gpus > 0 && part.type <= parts_.back().type)) {
      throw InvariantError("job " + std::to_string(job) +
                           ": parts need GPUs, each type once, by ascending type");
    }
    parts_.push_back(part);
    gpus += part.gpus;
  }
  if (gpus == 0) throw InvariantError("job " + std::to_string(job) + ": no parts");
  targets_.push_back({job, gpus, begin, static_cast<std::uint32_t>(parts_.size())});
}

void Reallocation::apply(const State& state, Actions& actions, Others others) {
  refused_.clear();
  moved_.clear();
  changed_.clear();
  const auto by_job = [](const Target& a, const Target& b) { return a.job < b.job; };
  if (!std::is_sorted(targets_.begin(), targets_.end(), by_job)) {
    std::sort(targets_.begin(), targets_.end(), by_job);
  }
  for (std::size_t i = 1; i < targets_.size(); ++i) {
    if (targets_[i - 1].job != targets_[i].job) continue;
    throw InvariantError("job " + std::to_string(targets_[i].job) + ": reallocated twice");
  }
  if (others == Others::stop) find_others(state);
  std::sort(others_.begin(), others_.end());
  for (const JobId job : others_) {
    stop_->count(kStepsOfLook);
    actions.preempt(job);
  }
  suspend_changed(state, actions);
  std::sort(changed_.begin(), changed_.end(), [](const Target& a, const Target& b) {
    return a.gpus != b.gpus ? a.gpus > b.gpus : a.job < b.job;
  });
  for (const Target& target : changed_) {
    stop_->count(kStepsOfMove);
    if (place(state.occupancy(), state, target.job, parts(target), allocation_)) {
      settle(state, target.job, allocation_, actions);
    } else if (!clear_server(state, target, actions) && !defragment(state, target, actions)) {
      if (last_resort != nullptr &&
          place(state.occupancy(), state, target.job, parts(target), allocation_, last_resort)) {
        settle(state, target.job, allocation_, actions);
      } else {
        refused_.push_back(target.job);
      }
    }
  }
  std::sort(refused_.begin(), refused_.end());
  give_up(state, actions);
  clear();
}

void Reallocation::find_others(const State& state) {
  others_.clear();
  const auto num_kept = std::count_if(targets_.begin(), targets_.end(), [&](const Target& target) {
    return state.is_running(target.job);
  });
  if (static_cast<std::size_t>(num_kept) == state.num_running()) return;
  state.for_each_running([&](const Slot& run) {
    const auto target = std::lower_bound(targets_.begin(), targets_.end(), run.job,
                                         [](const Target& a, JobId job) { return a.job < job; });
    if (target == targets_.end() || target->job != run.job) others_.push_back(run.job);
  });
}

void Reallocation::suspend_changed(const State& state, Actions& actions) {
  for (const Target& target : targets_) {
    stop_->count(kStepsOfLook);
    if (!state.is_running(target.job)) {
      changed_.push_back(target);
      continue;
    }
    const Slot& run = state.slot(target.job);
    parts_of(state.cluster(), run.gpus, run.pieces, held_);
    const auto wanted = parts(target);
    if (std::equal(held_.begin(), held_.end(), wanted.begin(), wanted.end())) continue;
    actions.suspend(target.job);
    changed_.push_back(target);
  }
}

bool Reallocation::has_free(const Occupancy& free, std::span<const Part> parts) const {
  return std::all_of(parts.begin(), parts.end(), [&](const Part& part) {
    return part.gpus <= free.num_free(TypeMask{1} << part.type);
  });
}

bool Reallocation::place(const Occupancy& free, const State& state, JobId job,
                         std::span<const Part> parts, Allocation& out, Placement* placement) {
  Placement& places = placement != nullptr ? *placement : *placement_;
  Request request = state.request(job);
  if (free.is_pooled()) {
    request.gpus = std::accumulate(parts.begin(), parts.end(), 0,
                                   [](int sum, const Part& part) { return sum + part.gpus; });
    return places.place(free, request, out);
  }
  int gpus = 0;
  for (const Part& part : parts) gpus += part.gpus;
  out.reset(gpus);
  const TypeMask types = request.types;
  for (const Part& part : parts) {
    request.gpus = part.gpus;
    request.types = types & TypeMask{1} << part.type;
    if (request.types == 0) return false;
    if (!request.is_share() && part.gpus > free.num_free(request.types)) return false;
    if (!places.place(free, request, piece_)) return false;
    out.pieces.insert(out.pieces.end(), piece_.pieces.begin(), piece_.pieces.end());
    if (parts.size() == 1) out.ranks = piece_.ranks;
  }
  sort_by_server(out);
  if (!state.speed().is_elastic()) return true;
  // Types that can each run it may together lack the memory.
  const double iteration_s = state.speed().iteration_s({job, out.pieces, out.ranks, {}});
  return iteration_s < kInfinity;
}

/// The job goes to the GPUs found for it, whether it waits or is suspended.
void Reallocation::settle(const State& state, JobId job, const Allocation& allocation,
                          Actions& actions) {
  if (!state.is_running(job)) {
    actions.start(job, allocation);
  } else if (is_same(state.slot(job), allocation)) {
    actions.restore(job);
  } else {
    actions.resize(job, allocation);
  }
}

bool Reallocation::is_movable(const State& state, const Slot& run, const Target& target) {
  if (run.is_suspended || run.start == state.now()) return false;
  parts_of(state.cluster(), run.gpus, run.pieces, held_);
  if (held_.size() != 1) return false;
  const auto wanted = parts(target);
  const bool is_in_the_way = std::any_of(wanted.begin(), wanted.end(), [&](const Part& part) {
    return part.type == held_.front().type &&
           (part.gpus > held_.front().gpus || (may_stop && run.pieces.size() > 1));
  });
  return is_in_the_way && (!may_move || may_move(run.job));
}

void Reallocation::find_movable(const State& state, const Target& target, std::size_t most) {
  movable_.clear();
  state.for_each_running([&](const Slot& run) {
    stop_->count(kStepsOfLook);
    const bool is_full = movable_.size() == most;
    if (is_full && !is_smaller(&run, movable_.front())) return;
    if (!is_movable(state, run, target)) return;
    if (is_full) {
      std::pop_heap(movable_.begin(), movable_.end(), is_smaller);
      movable_.pop_back();
    }
    movable_.push_back(&run);
    std::push_heap(movable_.begin(), movable_.end(), is_smaller);
  });
  std::sort_heap(movable_.begin(), movable_.end(), is_smaller);
}

/// Moves the fewest of the smallest jobs that make room, planned on a copy of the free GPUs.
bool Reallocation::defragment(const State& state, const Target& target, Actions& actions) {
  if (state.occupancy().is_pooled() || !has_free(state.occupancy(), parts(target))) return false;
  without_ = state.occupancy();
  moves_.clear();
  std::size_t most = kFewMovable;
  find_movable(state, target, most);
  while (true) {
    if (moves_.size() == movable_.size()) {
      if (movable_.size() < most) return false;
      most *= kFewMovable;
      find_movable(state, target, most);
      if (moves_.size() == movable_.size()) return false;
    }
    if (!makes_room(state, target, *movable_[moves_.size()])) continue;
    carry_out(state, target, actions);
    return true;
  }
}

/// Whether there is room for all once this one can be moved as well.
bool Reallocation::makes_room(const State& state, const Target& target, const Slot& run) {
  stop_->count(kStepsOfMove * (moves_.size() + 1));  // each is tried with all before it
  release(*without_, state, run);
  moves_.push_back({run.job, run.gpus, false, {}});
  if (!place(*without_, state, target.job, parts(target), allocation_)) return false;
  plan_ = *without_;
  acquire(*plan_, state, target.job, allocation_);
  return place_moved(*plan_, state);
}

/// Takes jobs off one server, where the fewest GPUs have to be; those that may be stopped wait if
/// no other place is found for them.
bool Reallocation::clear_server(const State& state, const Target& target, Actions& actions) {
  if (!may_stop || state.occupancy().is_pooled() || parts(target).size() != 1) return false;
  const auto [type, gpus] = parts(target).front();
  const Occupancy& free = state.occupancy();
  std::vector<std::int64_t> on_server(static_cast<std::size_t>(state.cluster().num_servers()));
  movable_.clear();
  state.for_each_running([&](const Slot& run) {
    stop_->count(kStepsOfLook);
    if (!is_movable(state, run, target)) return;
    movable_.push_back(&run);
    for (const Piece& piece : run.pieces) on_server[index_of(piece.server)] += piece.gpus;
  });
  vacancies_.clear();
  for (ServerId server = 0; server < state.cluster().num_servers(); ++server) {
    const std::int64_t leave = std::exchange(on_server[index_of(server)], 0);
    if (leave == 0 || state.cluster().type(server) != type) continue;
    if (leave + free.free_gpus(server) >= gpus) vacancies_.push_back({leave, server});
  }
  const std::size_t count = std::min(vacancies_.size(), kMostCleared);
  const auto end = vacancies_.begin() + static_cast<std::ptrdiff_t>(count);
  std::partial_sort(vacancies_.begin(), end, vacancies_.end());
  vacancies_.erase(end, vacancies_.end());
  // The jobs that would leave each of them; by server, the number of its list.
  std::vector<std::vector<const Slot*>> leaving(count + 1);
  for (std::size_t i = 0; i < count; ++i) {
    on_server[index_of(vacancies_[i].server)] = static_cast<std::int64_t>(i) + 1;
  }
  for (const Slot* run : movable_) {
    for (const Piece& piece : run->pieces) {
      const std::int64_t place = on_server[index_of(piece.server)];
      if (place == 0) continue;
      auto& jobs = leaving[static_cast<std::size_t>(place)];
      if (jobs.empty() || jobs.back() != run) jobs.push_back(run);
    }
  }
  for (std::size_t i = 1; i <= count; ++i) {
    without_ = free;
    moves_.clear();
    std::sort(leaving[i].begin(), leaving[i].end(), is_smaller);
    for (const Slot* run : leaving[i]) {
      release(*without_, state, *run);
      moves_.push_back({run->job, run->gpus, may_stop(run->job), {}});
    }
    stop_->count(on_server.size() + kStepsOfMove * (moves_.size() + 1));
    if (!place(*without_, state, target.job, parts(target), allocation_)) continue;
    acquire(*without_, state, target.job, allocation_);
    if (!place_moved(*without_, state)) continue;
    carry_out(state, target, actions);
    return true;
  }
  return false;
}

void Reallocation::carry_out(const State& state, const Target& target, Actions& actions) {
  for (const Move& move : moves_) actions.suspend(move.job);
  settle(state, target.job, allocation_, actions);
  for (const Move& move : moves_) {
    if (move.allocation.gpus > 0) {
      moved_.push_back(move.job);
      settle(state, move.job, move.allocation, actions);
    } else {
      refused_.push_back(move.job);
    }
  }
}

/// Finds places for all the moved jobs, the widest first; those that may be stopped come last.
bool Reallocation::place_moved(Occupancy& plan, const State& state) {
  order_.resize(moves_.size());
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
    if (moves_[a].stops != moves_[b].stops) return moves_[b].stops;
    return moves_[a].gpus != moves_[b].gpus ? moves_[a].gpus > moves_[b].gpus : a < b;
  });
  return std::all_of(order_.begin(), order_.end(), [&](std::size_t i) {
    const Slot& run = state.slot(moves_[i].job);
    parts_of(state.cluster(), run.gpus, run.pieces, held_);
    if (!place(plan, state, run.job, held_, moves_[i].allocation)) {
      moves_[i].allocation.reset(0);
      return moves_[i].stops;
    }
    acquire(plan, state, run.job, moves_[i].allocation);
    return true;
  });
}

void Reallocation::give_up(const State& state, Actions& actions) {
  for (const JobId job : refused_) {
    if (state.is_running(job) && !actions.restore(job)) actions.preempt(job);
  }
}

}  // namespace gpusched
