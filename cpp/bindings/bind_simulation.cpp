#include <pybind11/stl.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/check.hpp"
#include "bindings.hpp"
#include "data.hpp"
#include "run.hpp"
#include "run_watch.hpp"
#include "snapshot.hpp"

namespace gpusched::bindings {
namespace {

/// The state of a halted run: a dict of columns and numbers.
py::typing::Dict<py::str, py::object> state_of(Run& run) {
  const Simulation& simulation = run.halted();
  const State& state = simulation.state();
  std::vector<std::int64_t> held;
  std::vector<std::int64_t> waiting;
  std::vector<std::int64_t> running;
  std::vector<std::int64_t> start_us;
  std::vector<std::int64_t> finish_us;
  std::vector<std::int32_t> gpus;
  std::vector<std::int64_t> held_job;
  std::vector<std::int64_t> held_server;
  std::vector<GpuMask> held_mask;
  for (const JobId job : run.live()) {
    if (!state.is_running(job)) {
      (state.is_held(job) ? held : waiting).push_back(job);
      continue;
    }
    const Slot& slot = state.slot(job);
    running.push_back(job);
    start_us.push_back(slot.start.count());
    finish_us.push_back(slot.end().count());
    gpus.push_back(slot.gpus);
    for (const Piece& piece : slot.pieces) {
      held_job.push_back(job);
      held_server.push_back(piece.server);
      held_mask.push_back(piece.mask);
    }
  }
  const Occupancy& occupancy = state.occupancy();
  std::vector<std::int32_t> free;
  if (!occupancy.is_pooled()) {
    for (ServerId server = 0; server < occupancy.cluster().num_servers(); ++server) {
      free.push_back(occupancy.free_gpus(server));
    }
  }
  py::typing::Dict<py::str, py::object> columns;
  columns["held"] = column_of(std::move(held));
  columns["waiting"] = column_of(std::move(waiting));
  columns["running"] = column_of(std::move(running));
  columns["start_us"] = column_of(std::move(start_us));
  columns["finish_us"] = column_of(std::move(finish_us));
  columns["gpus"] = column_of(std::move(gpus));
  columns["held_job"] = column_of(std::move(held_job));
  columns["held_server"] = column_of(std::move(held_server));
  columns["held_mask"] = column_of(std::move(held_mask));
  columns["free_gpus"] = column_of(std::move(free));
  columns["num_free"] = py::int_(occupancy.num_free());
  columns["num_arrived"] = py::int_(state.num_arrived());
  columns["num_finished"] = py::int_(simulation.num_finished());
  columns["num_rejected"] = py::int_(simulation.num_rejected());
  return columns;
}

std::vector<Outage> outages_of(const std::vector<std::int32_t>& server,
                               const std::vector<std::int64_t>& start_us,
                               const std::vector<std::int64_t>& end_us,
                               const std::vector<std::uint8_t>& kind,
                               const std::vector<std::int64_t>& known_us) {
  if (start_us.size() != server.size() || end_us.size() != server.size() ||
      kind.size() != server.size() || (!known_us.empty() && known_us.size() != server.size())) {
    throw InvalidInput("outages: the columns must have one length");
  }
  std::vector<Outage> outages;
  for (std::size_t row = 0; row < server.size(); ++row) {
    if (kind[row] >= Outage::kNumKinds) {
      throw InvalidInput("outage_kind: row " + std::to_string(row) + " must be 0, 1 or 2");
    }
    const Time end = end_us[row] == -1 ? kNever : Time{end_us[row]};
    const auto what = static_cast<Outage::Kind>(kind[row]);
    const Time known = known_us.empty() ? kNever : Time{known_us[row]};
    outages.push_back({server[row], Time{start_us[row]}, end, what, known});
  }
  return outages;
}

/// How many jobs of the table there are by then.
std::size_t num_submitted(const JobTable& jobs, Time now) {
  const std::span<const std::int64_t> submit_us = jobs.columns().submit_us;
  return static_cast<std::size_t>(
      std::upper_bound(submit_us.begin(), submit_us.end(), now.count()) - submit_us.begin());
}

}  // namespace

void bind_simulation(py::module_& m) {
  py::class_<RunControl>(m, "RunControl", "Stops a run from another thread and shows its progress.")
      .def(py::init<>())
      .def("stop", [](RunControl& control) { control.stop.store(true); })
      .def("check", &RunControl::check, "Raise Stopped if a stop was requested.")
      .def(
          "watch",
          [](RunControl& control, py::object look) {
            if (auto* const watch = dynamic_cast<RunWatch*>(control.watch.get())) {
              watch->call(std::move(look));  // not freed: a run may look just now
            } else {
              control.watch = std::make_unique<RunWatch>(std::move(look));
            }
          },
          py::arg("look"),
          "Make the thread of the run handle signals and call `look`, unless it is None, about\n"
          "ten times a second; other threads then cannot stop the run. An exception from these\n"
          "ends the run. Call before the run.")
      .def_property_readonly("num_finished",
                             [](const RunControl& c) { return c.num_finished.load(); });

  using Values = Parameters::Values;
  using Policy = decltype(RunDescription::policy);
  using PlacementSeam = decltype(RunDescription::placement);
  py::class_<RunDescription>(
      m, "RunDescription",
      "The configuration of a run besides its jobs and cluster. A policy is a registered name, an\n"
      "Order or a Scheduler; a placement a registered name or a Placement. `policy_flags` say how\n"
      "an Order is run, `policy_label` what messages call the policy. `verify` recomputes and\n"
      "compares every rate after each instant. Outages are columns: the server, when it goes down\n"
      "and comes back (-1: never), and 0 if it fails, 1 if it is drained or 2 if it is maintained;\n"
      "then perhaps from when policies know of it.\n"
      "`kill_invalid_depend`: a job whose dependencies can never be met is\n"
      "cancelled. A run with more than `max_intervals` intervals in its log ends with\n"
      "a LogLimitError.")
      .def(py::init([](Policy policy, Values policy_values,
                       const std::vector<std::string>& policy_flags, std::string policy_label,
                       PlacementSeam placement, Values placement_values, std::string speed,
                       Values speed_values, std::string contention, Values contention_values,
                       std::uint64_t seed, bool verify, std::size_t max_intervals,
                       const std::vector<std::int32_t>& outage_server,
                       const std::vector<std::int64_t>& outage_start_us,
                       const std::vector<std::int64_t>& outage_end_us,
                       const std::vector<std::uint8_t>& outage_kind, bool kill_invalid_depend,
                       const std::vector<std::int64_t>& outage_known_us) {
             Flags flags;
             for (const std::string& flag : policy_flags) flags = flags.with(flag_of(flag));
             return RunDescription{.policy = std::move(policy),
                                   .policy_values = std::move(policy_values),
                                   .policy_label = std::move(policy_label),
                                   .policy_flags = flags,
                                   .placement = std::move(placement),
                                   .placement_values = std::move(placement_values),
                                   .speed = std::move(speed),
                                   .speed_values = std::move(speed_values),
                                   .contention = std::move(contention),
                                   .contention_values = std::move(contention_values),
                                   .seed = seed,
                                   .verify = verify,
                                   .outages =
                                       outages_of(outage_server, outage_start_us, outage_end_us,
                                                  outage_kind, outage_known_us),
                                   .kill_invalid_depend = kill_invalid_depend,
                                   .max_intervals = max_intervals};
           }),
           py::kw_only(), py::arg("policy").none(false), py::arg("policy_values") = Values{},
           py::arg("policy_flags") = std::vector<std::string>{}, py::arg("policy_label") = "",
           py::arg("placement").none(false), py::arg("placement_values") = Values{},
           py::arg("speed") = "fixed", py::arg("speed_values") = Values{},
           py::arg("contention") = "none", py::arg("contention_values") = Values{},
           py::arg("seed") = 0, py::arg("verify") = false,
           py::arg("max_intervals") = RunDescription{}.max_intervals,
           py::arg("outage_server") = std::vector<std::int32_t>{},
           py::arg("outage_start_us") = std::vector<std::int64_t>{},
           py::arg("outage_end_us") = std::vector<std::int64_t>{},
           py::arg("outage_kind") = std::vector<std::uint8_t>{},
           py::arg("kill_invalid_depend") = false,
           py::arg("outage_known_us") = std::vector<std::int64_t>{}, py::keep_alive<1, 2>(),
           py::keep_alive<1, 5>());

  py::class_<Run>(m, "Run",
                  "A replay of the jobs on the cluster that can be halted between arrivals. The\n"
                  "GIL is released unless the description holds an object of Python.")
      .def(py::init([](const OwnedJobTable& jobs, const Cluster& cluster,
                       const RunDescription& description, std::optional<RunControl*> control,
                       std::optional<const OwnedSnapshot*> snapshot) {
             RunControl* const given = control.value_or(nullptr);
             if (!snapshot) {
               return std::make_unique<Run>(jobs, cluster, description, given);
             }
             const Snapshot where = (*snapshot)->borrowed();
             if (where.attained_us.size() != num_submitted(jobs.table, where.now)) {
               throw InvalidInput("snapshot: must have one row for each job that has arrived");
             }
             return std::make_unique<Run>(jobs, cluster, description, given, &where);
           }),
           py::arg("jobs").none(false), py::arg("cluster").none(false),
           py::arg("description").none(false), py::arg("control") = py::none(),
           py::arg("snapshot") = py::none(), py::keep_alive<1, 2>(), py::keep_alive<1, 3>(),
           py::keep_alive<1, 4>(), py::keep_alive<1, 5>())
      .def("advance", &Run::advance, py::arg("num_jobs"),
           "Handle all instants before the arrival of this job, which must not arrive together\n"
           "with the one before it.")
      .def(
          "take_finished",
          [](Run& run) {
            auto [jobs, finish_us] = run.take_finished();
            return py::typing::Tuple<py::array_t<std::int64_t>, py::array_t<std::int64_t>>(
                py::make_tuple(column_of(std::move(jobs)), column_of(std::move(finish_us))));
          },
          "Return the jobs that finished in `advance` since the last call, in order, with times.")
      .def("finish", &Run::finish, "Run to the end and return the schedule; only once.")
      .def(
          "proceed",
          [](Run& run, std::int64_t limit_us, std::uint64_t most, bool keeps_finished) {
            return run.proceed(Time{limit_us}, most, keeps_finished);
          },
          py::arg("limit_us"), py::arg("most"), py::arg("keeps_finished") = false,
          "Handle at most this many instants before the limit; return how many there were.")
      .def_property_readonly(
          "next_us",
          [](Run& run) -> std::optional<std::int64_t> {
            const Time next = run.next();
            if (next == kNever) return std::nullopt;
            return next.count();
          },
          "The next instant, or None.")
      .def_property_readonly("now_us",
                             [](const Run& run) { return run.halted().state().now().count(); })
      .def_property_readonly("num_instants",
                             [](const Run& run) { return run.halted().num_instants(); })
      .def_property_readonly("is_stopped", &Run::is_stopped,
                             "Whether the run ended with an error after which `so_far` is "
                             "available.")
      .def("glimpse", &Run::glimpse,
           "Return the schedule so far of a run that goes on; held GPUs count until now.")
      .def(
          "fork",
          [](Run& run, const OwnedJobTable& jobs, const Cluster& cluster,
             const RunDescription& description) { return run.fork(jobs, cluster, description); },
          py::arg("jobs").none(false), py::arg("cluster").none(false),
          py::arg("description").none(false), py::keep_alive<0, 2>(), py::keep_alive<0, 3>(),
          py::keep_alive<0, 4>(),
          "Return an independent copy of the run at this point. Jobs, cluster and description\n"
          "must be those of this run, except Python objects, which are copies.")
      .def(
          "cancel", [](Run& run, JobId job, std::int64_t at_us) { run.cancel(job, Time{at_us}); },
          py::arg("job"), py::arg("at_us"),
          "Cancel a waiting or running job; at_us is after the last instant, with none between.")
      .def(
          "hold", [](Run& run, JobId job, std::int64_t at_us) { run.hold(job, Time{at_us}); },
          py::arg("job"), py::arg("at_us"), "Take a waiting job out of the queue, likewise.")
      .def(
          "release", [](Run& run, JobId job, std::int64_t at_us) { run.release(job, Time{at_us}); },
          py::arg("job"), py::arg("at_us"), "Put a job back that `hold` took out, likewise.")
      .def(
          "ask", [](Run& run, std::int64_t at_us) { run.ask(Time{at_us}); }, py::arg("at_us"),
          "Request a decision at at_us, likewise, without any event.")
      .def(
          "hand_over",
          [](Run& run, const RunDescription& description, std::int64_t at_us) {
            run.hand_over(description, Time{at_us});
          },
          py::arg("description").none(false), py::arg("at_us"), py::keep_alive<1, 2>(),
          "Switch to the policy of the description from at_us on, likewise.")
      .def("listen", &Run::listen, py::arg("is_listening"),
           "Set whether events are recorded for `take_events` from now on.")
      .def(
          "take_events",
          [](Run& run) {
            std::vector<std::pair<const char*, JobId>> events;
            for (const Event& event : run.take_events()) {
              events.emplace_back(kEventNames[static_cast<std::size_t>(event.kind)], event.job);
            }
            return events;
          },
          "Return the events since the last call: (what, job), in order.")
      .def("state", &state_of,
           "Return columns of the waiting and running jobs, their GPUs and the free GPUs.")
      .def("so_far", &Run::so_far, py::arg("why"),
           "Return the schedule until a stop or an error, with why as its warning; only once.\n"
           "Jobs that held GPUs then held them until then, and are unfinished.");
}

}  // namespace gpusched::bindings
