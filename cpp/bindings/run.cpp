#include "run.hpp"

#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "run_watch.hpp"
#include "scheduler_trampoline.hpp"

namespace gpusched::bindings {

Run::Run(const OwnedJobTable& jobs, const Cluster& cluster, const RunDescription& description,
         RunControl* control, const Snapshot* snapshot)
    : jobs_(jobs.table),
      is_native_(description.is_native()),
      control_(control != nullptr ? *control : own_control_) {
  std::optional<py::gil_scoped_release> unlocked;
  if (is_native_) unlocked.emplace();  // no Python object is touched below
  run_ = std::make_unique<DescribedRun>(jobs_, cluster, description, control_, snapshot);
}

Run::Run(const Run& from, const RunDescription& description)
    : jobs_(from.jobs_),
      is_native_(from.is_native_),
      control_(own_control_),
      run_(from.run_->fork(description, own_control_)),
      finished_(from.finished_),
      finish_us_(from.finish_us_),
      live_(from.live_),
      num_seen_(from.num_seen_) {}

void Run::check_open() const {
  if (phase_ == Phase::stopped || phase_ == Phase::over) throw InvalidInput("the run is over");
  if (phase_ == Phase::working) {
    throw InvalidInput("the run is busy, in another thread or in a call around this one");
  }
}

/// Works without the GIL if no Python object is involved. An error about an impossible action gets
/// the digest of the schedule so far.
template <class Work>
void Run::guarded(Work work) {
  check_open();
  phase_ = Phase::working;
  struct End {
    Run& run;
    Phase next = Phase::over;  // unless the work is done
    ~End() {
      run.phase_ = next;
      run.control_.num_finished.store(run.run_->simulation().num_finished(),
                                      std::memory_order_relaxed);
    }
  } end{*this};
  const auto digest = [&] {
    return "; digest of the schedule so far: " + run_->simulation().finish().digest();
  };
  try {
    std::optional<py::gil_scoped_release> unlocked;
    if (is_native_) unlocked.emplace();
    work();
  } catch (const LeavesSchedule&) {
    end.next = Phase::stopped;
    throw;
  } catch (const InvariantError& error) {
    throw InvariantError(error.what() + digest());
  } catch (py::error_already_set& error) {
    // An action's error that passed through a scheduler written in Python.
    const py::object type = py::module_::import("gpusched._core").attr("InvariantError");
    if (!error.matches(type)) {
      end.next = Phase::stopped;
      throw;
    }
    const auto message = py::str(error.value()).cast<std::string>();
    py::raise_from(error, type.ptr(), (message + digest()).c_str());
    throw py::error_already_set();
  }
  end.next = Phase::halted;
}

/// Does work that leaves the run unchanged if it throws; excludes other callers until it is done.
template <class Work>
auto Run::attempt(bool is_native, Work work) {
  check_open();
  phase_ = Phase::working;
  struct End {
    Run& run;
    ~End() { run.phase_ = Phase::halted; }
  } end{*this};
  std::optional<py::gil_scoped_release> unlocked;
  if (is_native) unlocked.emplace();
  return work();
}

/// Keeps the jobs that finished at the present instant for `take_finished`, except cancelled and
/// killed ones, whose service is unknown.
void Run::keep_finished() {
  const State& state = run_->simulation().state();
  for (const JobId job : run_->simulation().finished()) {
    if (state.record(job).phase != gpusched::Phase::finished) continue;
    finished_.push_back(job);
    finish_us_.push_back(state.now().count());
  }
}

void Run::advance(std::uint64_t num_jobs) {
  Time limit = kNever;
  if (num_jobs < jobs_.num_jobs()) {
    const auto job = static_cast<JobId>(num_jobs);
    limit = jobs_.submit(job);
    if (job > 0 && jobs_.submit(job - 1) == limit) {
      fail_input("num_jobs: job " + std::to_string(job) +
                 " arrives together with the job before it");
    }
  }
  guarded([&] {
    control_.check();  // also if there is nothing to handle
    while (run_->simulation().step(limit)) {
      control_.check();
      keep_finished();
    }
  });
}

std::uint64_t Run::proceed(Time limit, std::uint64_t most, bool keeps_finished) {
  std::uint64_t num_instants = 0;
  guarded([&] {
    control_.check();
    Simulation& simulation = run_->simulation();
    while (num_instants < most && simulation.step(limit)) {
      ++num_instants;
      control_.check();
      if (keeps_finished) keep_finished();
    }
  });
  return num_instants;
}

std::vector<FirstStart> Run::go_until_start(const std::vector<JobId>& jobs) {
  for (const JobId job : jobs) {
    if (job >= halted().state().num_arrived()) {
      throw InvalidInput("jobs: " + std::to_string(job) + " has not arrived");
    }
  }
  std::vector<FirstStart> found(jobs.size());
  std::vector<std::size_t> waiting(jobs.size());
  std::iota(waiting.begin(), waiting.end(), std::size_t{0});
  guarded([&] {
    Simulation& simulation = run_->simulation();
    const State& state = simulation.state();
    const auto has_started = [&](std::size_t index) {
      if (!state.is_running(jobs[index])) return false;
      const Slot& slot = state.slot(jobs[index]);
      found[index].start_us = slot.start.count();
      for (const Piece& piece : slot.pieces) found[index].servers.push_back(piece.server);
      return true;
    };
    while (std::erase_if(waiting, has_started), !waiting.empty() && simulation.step()) {
      control_.check();
    }
  });
  return found;
}

const Simulation& Run::halted() const {
  check_open();
  return run_->simulation();
}

Time Run::next() {
  check_open();
  return run_->simulation().next();
}

Schedule Run::glimpse() {
  return attempt(is_native_, [&] { return run_->simulation().so_far(); });
}

std::unique_ptr<Run> Run::fork(const OwnedJobTable& jobs, const Cluster& cluster,
                               const RunDescription& description) {
  if (&jobs.table != &jobs_ || &cluster != &halted().state().cluster()) {
    throw InvalidInput("fork: jobs and cluster must be those of the run");
  }
  auto made =
      attempt(is_native_, [&] { return std::unique_ptr<Run>(new Run(*this, description)); });
  made->own_control_.watch = std::make_unique<RunWatch>(py::none());
  // A Python scheduler sees only its own run.
  if (Scheduler* const* given = std::get_if<Scheduler*>(&description.policy)) {
    if (auto* scheduler = dynamic_cast<PyScheduler*>(*given)) {
      scheduler->join(made->run_->setup(), made->live());
    }
  }
  return made;
}

void Run::check_next(Time at) {
  const Simulation& simulation = halted();
  const bool has_begun = simulation.num_instants() > 0;
  if (at.count() < 0 || (has_begun && at <= simulation.state().now())) {
    throw InvalidInput("at_us: the instant is in the past");
  }
  if (next() < at) throw InvalidInput("at_us: another instant comes before it");
}

void Run::cancel(JobId job, Time at) {
  check_next(at);
  const State& state = halted().state();
  if (!state.is_live(job)) {
    throw InvalidInput("cancel: job " + std::to_string(job) + " must be held, waiting or running");
  }
  attempt(is_native_, [&] { run_->simulation().cancel(job, at); });
}

void Run::hold(JobId job, Time at) {
  check_next(at);
  const State& state = halted().state();
  if (!state.is_waiting(job) && !state.is_held(job)) {
    throw InvalidInput("hold: job " + std::to_string(job) + " must be held or waiting");
  }
  attempt(is_native_, [&] { run_->simulation().hold(job, at); });
}

void Run::release(JobId job, Time at) {
  check_next(at);
  if (!halted().state().is_held(job)) {
    throw InvalidInput("release: job " + std::to_string(job) + " must be held");
  }
  run_->simulation().release(job, at);
}

void Run::ask(Time at) {
  check_next(at);
  run_->simulation().ask(at);
}

void Run::hand_over(const RunDescription& description, Time at) {
  check_next(at);
  // A Python object that takes over is queried: that needs the GIL.
  attempt(is_native_ && description.is_native(), [&] { run_->hand_over(description, at); });
  is_native_ = description.is_native();
}

void Run::listen(bool is_listening) {
  check_open();
  run_->simulation().tell(is_listening ? &events_ : nullptr);
}

std::vector<Event> Run::take_events() {
  check_open();
  return std::exchange(events_, {});
}

const std::vector<JobId>& Run::live() {
  const State& state = halted().state();
  for (; num_seen_ < state.num_arrived(); ++num_seen_) live_.push_back(num_seen_);
  std::erase_if(live_, [&](JobId job) { return !state.is_live(job); });
  return live_;
}

std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>> Run::take_finished() {
  if (phase_ == Phase::working) check_open();
  return {std::exchange(finished_, {}), std::exchange(finish_us_, {})};
}

Schedule Run::finish() {
  guarded([&] { run_->simulation().run(); });
  phase_ = Phase::over;
  return run_->simulation().finish();
}

Schedule Run::so_far(std::string why) {
  if (phase_ != Phase::stopped) throw InvalidInput("the run was not stopped");
  phase_ = Phase::over;
  return run_->simulation().finish().warned(std::move(why));
}

}  // namespace gpusched::bindings
