#include "runs/environment.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.hpp"

namespace gpusched {
namespace {

constexpr double kSecondsPerTick = 1e-6;

}  // namespace

Environment::Environment(const JobTable& jobs, const Cluster& cluster,
                         const EnvironmentRules& rules, std::uint64_t num_feasible)
    : rules_(rules),
      run_(jobs, cluster, description(), control_),
      share_(num_feasible == 0 ? 0.0 : 1.0 / static_cast<double>(num_feasible)) {
  fits_.reserve(rules_.num_slots);
  class_fits_.assign(run_.simulation().state().classes().num_classes(), Fit::unknown);
  go_on();
}

RunDescription Environment::description() {
  return RunDescription{.policy = static_cast<Scheduler*>(&nobody_),
                        .placement = rules_.placement,
                        .placement_values = rules_.placement_values,
                        .seed = rules_.seed};
}

bool Environment::open_next() {
  Simulation& simulation = run_.simulation();
  const State& state = simulation.state();
  const Time before = state.now();
  const std::size_t num_running = state.num_running();
  if (!simulation.open_instant()) return false;
  const auto elapsed = static_cast<double>((state.now() - before).count()) * kSecondsPerTick;
  if (rules_.cost != Cost::slowdown) {
    const std::size_t num_jobs = waiting_.size() + (rules_.cost == Cost::jct ? num_running : 0);
    cost_ += elapsed * static_cast<double>(num_jobs) * share_;
  }
  waiting_.insert(waiting_.end(), simulation.arrived().begin(), simulation.arrived().end());
  if (!simulation.finished().empty()) {
    for (const ClassId id : judged_) class_fits_[id] = Fit::unknown;
    judged_.clear();
  }
  return true;
}

void Environment::go_on() {
  Simulation& simulation = run_.simulation();
  while (open_next()) {
    if (look()) return;
    simulation.close_instant();
  }
  is_over_ = true;
}

bool Environment::look() {
  const std::size_t num_shown = std::min(waiting_.size(), rules_.num_slots);
  fits_.assign(num_shown, 0);
  bool is_any = false;
  for (std::size_t slot = 0; slot < num_shown; ++slot) {
    fits_[slot] = fits(waiting_[slot]);
    is_any |= fits_[slot] != 0;
  }
  next_ = run_.simulation().next();
  return is_any;
}

bool Environment::fits(JobId job) {
  const State& state = run_.simulation().state();
  const ClassId id = state.classes().of(job);
  Fit& fit = class_fits_[id];
  if (fit == Fit::unknown) {
    const Request request = state.request(job);
    const bool is_narrow =
        request.room() <= nobody_.placement->widest(state.occupancy(), request.types);
    fit = is_narrow && nobody_.placement->place(state.occupancy(), request, allocation_)
              ? Fit::fits
              : Fit::refused;
    judged_.push_back(id);
  }
  return fit == Fit::fits;
}

void Environment::start(std::size_t slot) {
  Simulation& simulation = run_.simulation();
  const State& state = simulation.state();
  const JobId job = waiting_[slot];
  if (!nobody_.placement->place(state.occupancy(), state.request(job), allocation_)) {
    throw InvariantError("at " + std::to_string(state.now().count()) + " us, job " +
                         std::to_string(job) +
                         ": the placement refuses it, but gave GPUs to an identical job");
  }
  simulation.actions().start(job, allocation_);
  waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(slot));
  if (rules_.cost == Cost::slowdown) {
    const auto service = static_cast<double>(state.jobs().service(job).count());
    const auto waited = static_cast<double>((state.now() - state.jobs().submit(job)).count());
    cost_ += std::max(1.0, (waited + service) / std::max(service, kLeastServiceTicks)) * share_;
  }
  // Refused classes stay refused; accepted ones are checked again.
  std::erase_if(judged_, [&](ClassId id) {
    if (class_fits_[id] == Fit::refused) return false;
    class_fits_[id] = Fit::unknown;
    return true;
  });
}

bool Environment::answer(std::size_t slot) {
  if (is_over_) fail_input("answer: the run is over");
  const bool is_start = slot < fits_.size() && fits_[slot] != 0;
  const bool is_allowed = is_start || (slot == rules_.num_slots && may_wait());
  if (!is_start && !may_wait()) {
    slot = static_cast<std::size_t>(std::find(fits_.begin(), fits_.end(), 1) - fits_.begin());
  }
  if (is_start || !may_wait()) {
    start(slot);
    if (look()) return is_allowed;
  }
  run_.simulation().close_instant();
  go_on();
  return is_allowed;
}

double Environment::take_cost() noexcept { return std::exchange(cost_, 0.0); }

void Environment::observe(std::span<float> features) const {
  const State& state = run_.simulation().state();
  const JobTable& jobs = state.jobs();
  std::fill(features.begin(), features.end(), 0.0F);
  const std::size_t num_shown = is_over_ ? 0 : fits_.size();
  float* row = features.data();
  for (std::size_t slot = 0; slot < num_shown; ++slot, row += kJobFeatures) {
    const JobId job = waiting_[slot];
    row[0] = static_cast<float>(static_cast<double>((state.now() - jobs.submit(job)).count()) *
                                kSecondsPerTick);
    row[1] = static_cast<float>(static_cast<double>(jobs.predicted(job).count()) * kSecondsPerTick);
    row[2] = static_cast<float>(jobs.gpus(job));
    row[3] = fits_[slot] != 0 ? 1.0F : 0.0F;
    row[4] = 1.0F;
  }
  float* cluster = features.data() + rules_.num_slots * kJobFeatures;
  cluster[0] = static_cast<float>(state.occupancy().num_free());
  cluster[1] = static_cast<float>(state.cluster().num_gpus());
  cluster[2] = static_cast<float>(state.num_running());
  cluster[3] = static_cast<float>(waiting_.size());
}

void Environment::allow(std::span<std::uint8_t> allowed) const {
  std::fill(allowed.begin(), allowed.end(), std::uint8_t{0});
  if (is_over_) {
    allowed[rules_.num_slots] = 1;  // nothing else is left to say
    return;
  }
  std::copy(fits_.begin(), fits_.end(), allowed.begin());
  allowed[rules_.num_slots] = may_wait() ? 1 : 0;
}

}  // namespace gpusched
