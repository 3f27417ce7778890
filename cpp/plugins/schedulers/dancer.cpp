#include "dancer/dancer.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "base/registry.hpp"
#include "seams/named.hpp"

namespace gpusched {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Freedom freedom(const std::string& name) {
  return {.in_number = name == "both" || name == "number",
          .in_type = name == "both" || name == "type"};
}

void apply_preset(Parameters& parameters) {
  const std::string& preset = parameters.text("preset");
  if (preset == "count-only") parameters.preset("elastic", std::string("number"));
  if (preset == "type-only") parameters.preset("elastic", std::string("type"));
  if (preset == "constant-price") parameters.preset("prices", std::string("constant"));
  if (preset != "theory") return;
  parameters.preset("prices", std::string("theory"));
  parameters.preset("replan", false);
  parameters.preset("fill", false);
  parameters.preset("retry", false);
  parameters.preset("exchange", false);
  parameters.preset("whole_slots", true);
}

}  // namespace

Dancer::Dancer(const Parameters& parameters)
    : options_{.slot = parameters.seconds("slot_s"),
               .prices = price_rule_of(parameters.text("prices")),
               .supply = parameters.number("supply"),
               .market_decay = parameters.number("decay"),
               .quanta = static_cast<int>(parameters.integer("quanta")),
               .segments = static_cast<int>(parameters.integer("segments")),
               .whole_slots = parameters.flag("whole_slots"),
               .is_exact = false},
      replans_(parameters.flag("replan")),
      fills_(parameters.flag("fill")),
      retries_(parameters.flag("retry")),
      exchanges_(parameters.flag("exchange")),
      num_replans_(parameters.integer("replans")),
      num_retries_(parameters.integer("retries")),
      sets_(freedom(parameters.text("elastic"))),
      anywhere_(make_placement("best-fit", {})) {}

std::vector<ParameterInfo> Dancer::parameters() {
  return {{.name = "preset",
           .fallback = std::string("full"),
           .help = "count-only: each job keeps to its fastest GPU type; type-only: each job keeps "
                   "its width; constant-price: prices=constant; theory: prices=theory in whole "
                   "slots, without replan, fill and retry",
           .choices = {"full", "count-only", "type-only", "constant-price", "theory"}},
          {.name = "slot_s",
           .fallback = 300.0,
           .help = "seconds between changes of GPUs",
           .minimum = 1,
           .maximum = 1e6},
          {.name = "prices",
           .fallback = std::string("market"),
           .help = "what prices grow between as GPUs are promised: 'density': bounds on the value "
                   "of a GPU slot to the jobs so far; 'market': the same, but not from below the "
                   "price at which the jobs of late would just have been served; 'theory': the "
                   "bounds of the competitive ratio; 'constant': always the lower one of 'density'",
           .choices = {"market", "density", "theory", "constant"}},
          {.name = "supply",
           .fallback = 0.5,
           .help = "with prices=market: the part of the GPUs that the jobs of late would just have "
                   "filled; less than all, for jobs in haste use more than the least GPU time",
           .minimum = 0.01,
           .maximum = 10},
          {.name = "decay",
           .fallback = 0.98,
           .help = "with prices=market: how much less the jobs of the slot before count",
           .minimum = 0,
           .maximum = 1},
          {.name = "elastic",
           .fallback = std::string("both"),
           .help = "what of its GPUs a job may change: their number and type, one of them, or "
                   "neither",
           .choices = {"both", "number", "type", "none"}},
          {.name = "replan",
           .fallback = true,
           .help = "look for cheaper plans for jobs that have one"},
          {.name = "replans",
           .fallback = std::int64_t{4},
           .help = "of how many jobs in each slot, in turn",
           .minimum = 0,
           .maximum = 1e6},
          {.name = "fill",
           .fallback = true,
           .help = "jobs get GPUs of a slot beyond their plans"},
          {.name = "retry",
           .fallback = true,
           .help = "offer jobs again that were turned down, while their deadlines can be met"},
          {.name = "retries",
           .fallback = std::int64_t{16},
           .help = "to how many jobs in each slot, in turn",
           .minimum = 0,
           .maximum = 1e6},
          {.name = "exchange",
           .fallback = true,
           .help = "a job that finds no room in the present slot takes the GPUs of jobs that keep "
                   "their promises without them"},
          {.name = "whole_slots",
           .fallback = false,
           .help = "plans begin and end with whole slots"},
          {.name = "quanta",
           .fallback = std::int64_t{640},
           .help = "into how many parts, at most, a job's work is cut to plan it",
           .minimum = 1,
           .maximum = 1e5},
          {.name = "segments",
           .fallback = std::int64_t{32},
           .help = "into how many parts, at most, the time to its deadline is cut",
           .minimum = 1,
           .maximum = 1e4}};
}

void Dancer::begin(const Setup& setup) {
  const std::vector<std::int64_t> gpus = gpus_by_type(setup.state);
  planner_.emplace(options_, gpus);
  sets_.clear();
  reallocation_.begin(setup);
  placement_ = &setup.placement;
  anywhere_->begin({setup.seed, setup.state});
  reallocation_.last_resort = anywhere_.get();
  control_ = &setup.control;
  exchange_.begin(*planner_, jobs_, setup.control);
  jobs_.clear();
  unused_.clear();
  several_.clear();
  index_ = make_buffer<Index>(setup.state.jobs().num_jobs());
  live_.clear();
  open_.clear();
  rest_.clear();
  rest_running_.clear();
  replan_turn_ = retry_turn_ = 0;
  decisions_.clear();
  num_broken_ = 0;
}

void Dancer::decide(const State& state, const Instant& instant, Actions& actions) {
  const Time now = state.now();
  planner_->advance(now);
  slot_ = planner_->slot_of(now);
  is_border_ = options_.slot * slot_ == now;
  for (const JobId job : instant.finished) forget(job);
  receive(state, instant.arrived, actions);
  if (live_.empty() && open_.empty() && rest_.empty() && rest_running_.empty()) {
    if (state.num_running() == 0) start_on_several_types(state, actions);
    return;
  }
  if (is_border_) {
    begin_slot(state, actions);
  } else {
    start_waiting(state, actions);
  }
  actions.wake(next_multiple(now, options_.slot));
}

/// Gangs that no single type runs have no plans: they run while there is nobody else.
void Dancer::start_on_several_types(const State& state, Actions& actions) {
  for (const JobId job : several_) {
    if (!placement_->place(state.occupancy(), state.request(job), allocation_)) continue;
    actions.start(job, allocation_);
    return;
  }
}

std::vector<std::string> Dancer::warnings() const {
  if (num_broken_ == 0) return {};
  return {"dancer: " + std::to_string(num_broken_) +
          " jobs that were admitted missed their deadlines"};
}

// Between the borders.

bool Dancer::place(const State& state, JobId job, const PlanConfiguration& configuration) {
  Request request = state.request(job);
  request.gpus = configuration.gpus;
  if (!state.occupancy().is_pooled()) request.types &= TypeMask{1} << configuration.type;
  if (request.gpus > state.occupancy().num_free(request.types)) return false;
  return placement_->place(state.occupancy(), request, allocation_);
}

/// GPUs of the type that a gang on several types holds and can let go.
std::int64_t Dancer::yielding_gpus(const State& state, JobId several, int type) const {
  if (!state.is_running(several)) return 0;
  const Slot& run = state.slot(several);
  if (run.is_suspended || run.start == state.now()) return 0;
  std::int64_t gpus = 0;
  for (const Piece& piece : run.pieces) {
    if (state.cluster().type(piece.server) == type) gpus += piece.gpus;
  }
  return gpus;
}

/// Jobs without a promise that hold GPUs of the type, those that matter least first.
void Dancer::find_yielding(const State& state, int type) {
  yielding_.clear();
  for (const JobId job : several_) {
    if (yielding_gpus(state, job, type) > 0) yielding_.push_back(index_[job]);
  }
  const auto add = [&](Index index) {
    const DancerJob& own = jobs_[index];
    if (own.held < 0 || !state.is_running(own.job)) return;
    const Slot& run = state.slot(own.job);
    if (run.is_suspended || run.start == state.now()) return;
    if (own.configurations[static_cast<std::size_t>(own.held)].type != type) return;
    yielding_.push_back(index);
  };
  for (auto job = rest_running_.rbegin(); job != rest_running_.rend(); ++job) add(index_[*job]);
  for (auto index = open_.rbegin(); index != open_.rend(); ++index) add(*index);
}

/// Whether some configuration has GPUs that are free, or that jobs hold without a promise.
bool Dancer::might_start(const State& state, const PlanQuery& query) {
  count_spare(state);
  const auto add = [&](const DancerJob& own, int configuration, int sign) {
    if (configuration < 0) return;
    const PlanConfiguration& c = own.configurations[static_cast<std::size_t>(configuration)];
    spare_[static_cast<std::size_t>(c.type)] += sign * c.gpus;
  };
  for (const JobId job : several_) {
    for (int type = 0; type < static_cast<int>(spare_.size()); ++type) {
      spare_[static_cast<std::size_t>(type)] += yielding_gpus(state, job, type);
    }
  }
  for (const JobId job : rest_running_) add(jobs_[index_[job]], jobs_[index_[job]].held, 1);
  for (const Index index : open_) add(jobs_[index], jobs_[index].held, 1);
  for (const Index index : live_) {
    const DancerJob& own = jobs_[index];
    if (own.held < 0) continue;
    add(own, own.held, 1);
    add(own, configuration_at(own.steps, slot_), -1);
  }
  for (int c = 0; c < static_cast<int>(query.configurations.size()); ++c) {
    if (has_spare(query, c, -1, spare_)) return true;
  }
  return false;
}

/// A job with a promise goes back to what its plan holds in the slot, if the promise is kept.
bool Dancer::give_back(const State& state, Index index, Actions& actions) {
  DancerJob& own = jobs_[index];
  const int base = configuration_at(own.steps, slot_);
  if (own.held < 0 || own.held == base || !state.is_running(own.job)) return false;
  const Slot& run = state.slot(own.job);
  if (run.is_suspended || run.start == state.now()) return false;
  PlanQuery query = own.query(state);
  query.current = base;
  query.pending = base < 0 ? Time{0} : query.change;
  const double done = follow(query, own.steps, options_.slot, kInfinity).done;
  if (done < planner_->needed(query, 0.0)) return false;
  actions.suspend(own.job);
  if (base >= 0) {
    if (!place(state, own.job, own.configurations[static_cast<std::size_t>(base)])) {
      actions.restore(own.job);
      return false;
    }
    actions.resize(own.job, allocation_);
  }
  own.held = base;
  return true;
}

/// A job that was just admitted starts within the slot; those that hold GPUs without a promise
/// make room.
bool Dancer::start_now(const State& state, Index index, int configuration, Actions& actions) {
  bool has_started = start(state, index, configuration, actions);
  if (has_started) return true;
  const int type = jobs_[index].configurations[static_cast<std::size_t>(configuration)].type;
  find_yielding(state, type);
  std::size_t count = 0;
  while (!has_started && count < yielding_.size()) {
    actions.suspend(jobs_[yielding_[count++]].job);
    has_started = start(state, index, configuration, actions);
  }
  for (std::size_t i = 0; !has_started && i < live_.size(); ++i) {
    const DancerJob& own = jobs_[live_[i]];
    if (own.held < 0 || own.configurations[static_cast<std::size_t>(own.held)].type != type) {
      continue;
    }
    if (!give_back(state, live_[i], actions)) continue;
    has_started = start(state, index, configuration, actions);
  }
  // The last to be asked is the first to go on.
  while (count > 0) {
    DancerJob& own = jobs_[yielding_[--count]];
    if (actions.restore(own.job)) continue;
    own.held = -1;
    if (own.promise != Promise::none) continue;
    rest_running_.erase(own.job);
    rest_.insert(own.job);
  }
  return has_started;
}

bool Dancer::start(const State& state, Index index, int configuration, Actions& actions) {
  DancerJob& own = jobs_[index];
  const PlanConfiguration& c = own.configurations[static_cast<std::size_t>(configuration)];
  if (!place(state, own.job, c)) return false;
  actions.start(own.job, allocation_);
  own.held = configuration;
  return true;
}

void Dancer::count_spare(const State& state) {
  const Occupancy& free = state.occupancy();
  spare_.resize(static_cast<std::size_t>(planner_->prices().num_types()));
  for (std::size_t type = 0; type < spare_.size(); ++type) {
    spare_[type] = free.is_pooled() ? free.num_free() : free.num_free(TypeMask{1} << type);
  }
}

/// Jobs start on what is free, until the border: those that might yet meet their deadlines, those
/// whose plans go on at the border, then the rest by arrival.
void Dancer::start_waiting(const State& state, Actions& actions) {
  if (state.occupancy().num_free() == 0) return;
  int misses = 0;
  const auto can_start = [&](JobId job) {
    if (!state.is_waiting(job)) return false;
    const JobRecord& record = state.record(job);
    return record.start == kNever || record.idle_since != state.now();
  };
  const auto is_over = [&] {
    return misses >= kMaxFillMisses || state.occupancy().num_free() == 0;
  };
  for (const Index index : open_) {
    if (is_over()) return;
    if (!can_start(jobs_[index].job)) continue;
    count_spare(state);
    FillJob job{.query = jobs_[index].query(state)};
    SlotFilling::rescue({&job, 1}, spare_);
    if (job.chosen < 0 || !start(state, index, job.chosen, actions)) ++misses;
  }
  const Time border = next_multiple(state.now(), options_.slot);
  for (const Index index : live_) {
    if (!fills_ || is_over()) break;
    const DancerJob& own = jobs_[index];
    const int next = configuration_at(own.steps, slot_ + 1);
    if (next < 0 || border - state.now() <= own.change || !can_start(own.job)) continue;
    if (!start(state, index, next, actions)) ++misses;
  }
  std::vector<JobId> started;
  for (const JobId job : rest_) {
    if (is_over()) break;
    if (!can_start(job)) continue;
    count_spare(state);
    const DancerJob& own = jobs_[index_[job]];
    const int best = fastest_as_asked(own.query(state), own.asked, spare_);
    if (best < 0 || !start(state, index_[job], best, actions)) {
      ++misses;
    } else {
      started.push_back(job);
    }
  }
  for (const JobId job : started) {
    rest_.erase(job);
    rest_running_.insert(job);
  }
}

GPUSCHED_REGISTER(
    Scheduler, Dancer, .name = "dancer",
    .summary = "Admits jobs whose deadlines are worth the GPUs; number and type both change.",
    .source = "Zhang, Luo, Sun, Yu, Li, IEEE TCC 13(2), 2025 (doi 10.1109/TCC.2025.3548604).",
    .flags = {Flag::preemptive, Flag::clairvoyant, Flag::elastic, Flag::deadlines},
    .parameters = Dancer::parameters(), .adjust = apply_preset)

}  // namespace gpusched
