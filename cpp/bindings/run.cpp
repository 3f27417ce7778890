#include "run.hpp"

#include <optional>
#include <string>

#include "base/check.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {

Run::Run(const OwnedJobTable& jobs, const Cluster& cluster, const RunDescription& description,
         RunControl* control)
    : jobs_(jobs.table),
      is_native_(description.is_native()),
      control_(control != nullptr ? *control : own_control_) {
  std::optional<py::gil_scoped_release> unlocked;
  if (is_native_) unlocked.emplace();  // no Python object is touched below
  run_ = std::make_unique<DescribedRun>(jobs_, cluster, description, control_);
}

void Run::check_open() const {
  if (phase_ == Phase::stopped || phase_ == Phase::over) throw InvalidInput("the run is over");
  if (phase_ == Phase::working) {
    throw InvalidInput("the run is going on, in another thread or around this very call");
  }
}

/// Works without the GIL where nothing is Python's. Where an action was impossible the message
/// gets the digest of what was done until then.
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
  } catch (const Stopped&) {
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
    control_.check();  // also where there is nothing to handle
    while (run_->simulation().step(limit)) {
      control_.check();
      for (const JobId job : run_->simulation().finished()) {
        finished_.push_back(job);
        finish_us_.push_back(run_->simulation().state().now().count());
      }
    }
  });
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

Schedule Run::so_far() {
  if (phase_ != Phase::stopped) throw InvalidInput("the run was not stopped");
  phase_ = Phase::over;
  return run_->simulation().finish();
}

}  // namespace gpusched::bindings
