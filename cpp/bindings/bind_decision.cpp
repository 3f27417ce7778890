#include <pybind11/stl.h>

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "bindings.hpp"
#include "columns.hpp"
#include "run.hpp"

namespace gpusched::bindings {
namespace {

/// The actions of the first decision of a run: a dict of columns.
py::typing::Dict<py::str, py::object> decided(Run& run) {
  run.listen(true);
  run.proceed(kNever, 1, false);
  std::vector<std::int8_t> kind;
  std::vector<std::int64_t> job;
  std::vector<std::int64_t> held_job;
  std::vector<std::int64_t> held_server;
  std::vector<GpuMask> held_mask;
  const Simulation& simulation = run.halted();
  const State& state = simulation.state();
  for (const Event& event : run.take_events()) {
    kind.push_back(static_cast<std::int8_t>(event.kind));
    job.push_back(event.job);
    if (event.kind != EventKind::start && event.kind != EventKind::resize) continue;
    for (const Piece& piece : state.slot(event.job).pieces) {
      held_job.push_back(event.job);
      held_server.push_back(piece.server);
      held_mask.push_back(piece.mask);
    }
  }
  std::vector<std::int64_t> rejected;
  std::vector<std::int8_t> reason;
  for (JobId row = 0; simulation.num_rejected() > 0 && row < state.num_arrived(); ++row) {
    if (state.record(row).phase != Phase::rejected) continue;
    rejected.push_back(row);
    reason.push_back(static_cast<std::int8_t>(state.record(row).reason));
  }
  const Time wake = simulation.wake_up();
  py::typing::Dict<py::str, py::object> columns;
  columns["kind"] = column_of(std::move(kind));
  columns["job"] = column_of(std::move(job));
  columns["held_job"] = column_of(std::move(held_job));
  columns["held_server"] = column_of(std::move(held_server));
  columns["held_mask"] = column_of(std::move(held_mask));
  columns["rejected"] = column_of(std::move(rejected));
  columns["reason"] = column_of(std::move(reason));
  columns["num_free"] = py::int_(state.occupancy().num_free());
  columns["wake_us"] = wake == kNever ? py::object(py::none()) : py::int_(wake.count());
  return columns;
}

/// The arguments of a Snapshot of the waiting and running jobs, and their ids; no held ones.
py::typing::Dict<py::str, py::object> snapshot_of(Run& run) {
  const State& state = run.halted().state();
  std::vector<std::int64_t> jobs, attained_us, start_us, cost_us, added_us, held_job, held_server;
  std::vector<std::int32_t> preemptions;
  std::vector<GpuMask> held_mask;
  for (const JobId job : run.live()) {
    if (state.is_held(job)) continue;
    jobs.push_back(job);
    attained_us.push_back(state.attained(job).count());
    preemptions.push_back(state.record(job).preemptions);
    added_us.push_back(state.history(job).redo.count());
    const bool runs = state.is_running(job);
    start_us.push_back(runs ? state.slot(job).start.count() : -1);
    cost_us.push_back(runs ? state.slot(job).cost.count() : 0);
    if (!runs) continue;
    for (const Piece& piece : state.slot(job).pieces) {
      held_job.push_back(std::ssize(jobs) - 1);
      held_server.push_back(piece.server);
      held_mask.push_back(piece.mask);
    }
  }
  py::typing::Dict<py::str, py::object> columns;
  columns["jobs"] = column_of(std::move(jobs));
  columns["attained_us"] = column_of(std::move(attained_us));
  columns["start_us"] = column_of(std::move(start_us));
  columns["cost_us"] = column_of(std::move(cost_us));
  columns["preemptions"] = column_of(std::move(preemptions));
  columns["added_us"] = column_of(std::move(added_us));
  columns["held_job"] = column_of(std::move(held_job));
  columns["held_server"] = column_of(std::move(held_server));
  columns["held_mask"] = column_of(std::move(held_mask));
  columns["next_us"] = py::int_(run.halted().next_decision().count());
  return columns;
}

std::vector<std::pair<std::int64_t, std::vector<ServerId>>> until_start(
    Run& run, const std::vector<JobId>& jobs) {
  std::vector<std::pair<std::int64_t, std::vector<ServerId>>> found;
  for (FirstStart& start : run.go_until_start(jobs)) {
    found.emplace_back(start.start_us, std::move(start.servers));
  }
  return found;
}

}  // namespace

void bind_decision(py::module_& m) {
  m.def("decided", &decided, py::arg("run").none(false),
        "Take the next decision of a run: columns of its actions, and jobs that can never run.");
  m.def("snapshot_of", &snapshot_of, py::arg("run").none(false),
        "Return the waiting and running jobs of a halted run, columns of a Snapshot of only\n"
        "these, and the next decision if nothing finishes or arrives before (2^63 - 1: never).");
  m.def("until_start", &until_start, py::arg("run").none(false), py::arg("jobs"),
        "Advance until each of the jobs has held GPUs: return its first start in microseconds (-1\n"
        "if never) and its servers.");
  m.def(
      "can_place",
      [](const Run& run, JobId job) {
        if (job >= run.halted().state().num_arrived()) {
          throw InvalidInput("job: " + std::to_string(job) + " has not arrived");
        }
        return run.halted().can_place(job);
      },
      py::arg("run").none(false), py::arg("job"),
      "Return whether the placement of a halted run finds GPUs for the job.");
}

}  // namespace gpusched::bindings
