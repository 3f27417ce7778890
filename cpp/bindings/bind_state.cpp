#include <pybind11/stl.h>

#include <array>

#include "bindings.hpp"
#include "data.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {
namespace {

JobId checked(const State& state, std::int64_t job) {
  if (job < 0 || job >= static_cast<std::int64_t>(state.num_arrived())) {
    throw py::index_error("job " + std::to_string(job) + " has not arrived");
  }
  return static_cast<JobId>(job);
}

/// One value per job of an index array.
template <class Value>
py::array_t<std::int64_t> gather(const StateView& view, const Column<std::int64_t>& jobs,
                                 Value value) {
  const State& state = view.state();
  const auto ids = gpusched::bindings::view(jobs, "jobs");
  return collect<std::int64_t>(ids.size(), [&](std::size_t i) {
    return value(state, checked(state, ids[i])).count();
  });
}

template <class Test>
py::array_t<std::int64_t> filter(const StateView& view, Test test) {
  const State& state = view.state();
  const std::vector<JobId>& active = view.active();
  std::vector<std::int64_t> jobs;
  {
    const UnlockedPass unlocked(active.size());
    for (const JobId job : active) {
      if (test(state, job)) jobs.push_back(job);
    }
  }
  return column_of(std::move(jobs));
}

/// Labels of jobs by users and administrators; the core does not read them.
void show_public_columns(py::class_<StateView, std::shared_ptr<StateView>>& state) {
  constexpr std::array<std::array<const char*, 2>, 7> kShown{{
      {"user", "User of each job of the trace: codes and names."},
      {"account", "Account of each job of the trace: codes and names."},
      {"queue", "Queue of each job of the trace: codes and names."},
      {"group", "Group of each job of the trace, for runs of the same work: codes and names."},
      {"priority", "Priority of each job of the trace; 0 if it has none."},
      {"estimate_us", "User's run-time estimate of each job in microseconds; -1 if it has none."},
      {"id", "Name of each job in its source."},
  }};
  for (const auto& [name, text] : kShown) {
    state.def_property_readonly(
        name,
        [name = name](const StateView& v) -> py::object {
          return static_cast<const ShownJobTable&>(v.state().jobs()).public_columns.attr(name);
        },
        text);
  }
}

}  // namespace

void bind_state(py::module_& m) {
  using I64 = Column<std::int64_t>;
  py::class_<StateView, std::shared_ptr<StateView>> state(
      m, "State", "The part of a run that a scheduler or an order may see.");
  show_public_columns(state);
  state.def_property_readonly("now_us", [](const StateView& v) { return v.state().now().count(); })
      .def_property_readonly("seed", &StateView::seed)
      .def_property_readonly("num_gpus",
                             [](const StateView& v) { return v.state().cluster().num_gpus(); })
      .def_property_readonly("num_free",
                             [](const StateView& v) { return v.state().occupancy().num_free(); })
      .def_property_readonly(
          "submit_us",
          [](StateView& v) { return v.column(v.state().jobs().columns().submit_us, "submit_us"); },
          "Submit of every job of the trace, in microseconds; index it with job ids.")
      .def_property_readonly(
          "gpus", [](StateView& v) { return v.column(v.state().jobs().columns().gpus, "gpus"); },
          "Width of every job of the trace.")
      .def_property_readonly(
          "predicted_us",
          [](StateView& v) {
            const auto& columns = v.state().jobs().columns();
            return v.column(columns.predicted_us.empty() ? columns.service_us
                                                         : columns.predicted_us,
                            "predicted_us");
          },
          "Predicted service of every job of the trace, in microseconds.")
      .def_property_readonly(
          "weight",
          [](StateView& v) {
            return v.column_or(v.state().jobs().columns().weight, 1.0, "weight");
          },
          "Weight of every job of the trace.")
      .def_property_readonly(
          "deadline_us",
          [](StateView& v) {
            return v.column_or(v.state().jobs().columns().deadline_us, kNoDeadline, "deadline_us");
          },
          "Deadline of every job of the trace, in microseconds; -1 if it has none.")
      .def_property_readonly(
          "value",
          [](StateView& v) { return v.column_or(v.state().jobs().columns().value, 1.0, "value"); },
          "Value of meeting the deadline of every job of the trace.")
      .def_property_readonly(
          "min_gpus",
          [](StateView& v) {
            return v.limit_column("min_gpus",
                                  [](const State& s, JobId j) { return s.min_gpus(j); });
          },
          "Minimum width of every job of the trace; its own if the speed is not elastic.")
      .def_property_readonly(
          "max_gpus",
          [](StateView& v) {
            return v.limit_column("max_gpus",
                                  [](const State& s, JobId j) { return s.max_gpus(j); });
          },
          "Maximum width of every job of the trace, at most the cluster.")
      .def_property_readonly("is_elastic",
                             [](const StateView& v) { return v.state().speed().is_elastic(); })
      .def_property_readonly("num_types",
                             [](const StateView& v) { return v.state().cluster().num_types(); })
      .def_property_readonly(
          "type_gpus",
          [](const StateView& v) {
            const Cluster& cluster = v.state().cluster();
            std::vector<std::int64_t> gpus;
            for (int type = 0; type < cluster.num_types(); ++type) {
              gpus.push_back(cluster.gpus_of(TypeMask{1} << type));
            }
            return column_of(std::move(gpus));
          },
          "GPUs of each type of the cluster.")
      .def(
          "rates",
          [](const StateView& v, const I64& jobs, int type, int gpus) {
            const State& state = v.state();
            if (type < 0 || type >= state.cluster().num_types()) {
              throw py::value_error("type: the cluster has " +
                                    std::to_string(state.cluster().num_types()) + " GPU types");
            }
            const auto ids = view(jobs, "jobs");
            return collect<double>(ids.size(), [&](std::size_t i) {
              return state.rate(checked(state, ids[i]), type, gpus);
            });
          },
          py::arg("jobs"), py::arg("type"), py::arg("gpus"),
          "Return the progress rate of each job on this many GPUs of one type: 1 at its own width\n"
          "on the best type, 0 if it cannot run so.")
      .def(
          "ideal_s",
          [](const StateView& v, const I64& jobs) {
            const State& state = v.state();
            const auto ids = view(jobs, "jobs");
            return collect<double>(ids.size(), [&](std::size_t i) {
              const JobId known = checked(state, ids[i]);
              return state.speed().is_fixed() ? 0.0 : state.speed().ideal_s(known);
            });
          },
          py::arg("jobs"),
          "Seconds of an iteration of each job at its own width on the best type; 0 if the speed\n"
          "has no iterations.")
      .def(
          "parts_of",
          [](const StateView& v, std::int64_t job) {
            const State& state = v.state();
            std::vector<Part> parts;
            if (state.is_running(checked(state, job))) {
              const Slot& run = state.slot(static_cast<JobId>(job));
              parts_of(state.cluster(), run.gpus, run.pieces, parts);
            }
            std::vector<std::pair<int, int>> pairs;
            for (const Part& part : parts) pairs.emplace_back(part.type, part.gpus);
            return pairs;
          },
          py::arg("job"),
          "Return the GPUs of a running job: (type, GPUs), by type; empty if it waits.")
      .def(
          "restart_us",
          [](const StateView& v, const I64& jobs) {
            return gather(v, jobs,
                          [](const State& s, JobId job) { return s.jobs().restart_cost(job); });
          },
          py::arg("jobs"), "Return the checkpoint and restart cost of one resume, in microseconds.")
      .def(
          "remaining_us",
          [](const StateView& v, const I64& jobs) {
            return gather(v, jobs, [](const State& s, JobId job) { return s.remaining(job); });
          },
          py::arg("jobs"), "Return the predicted remaining service in microseconds, at least 1.")
      .def(
          "attained_us",
          [](const StateView& v, const I64& jobs) {
            return gather(v, jobs, [](const State& s, JobId job) { return s.attained(job); });
          },
          py::arg("jobs"), "Return the service received so far, in microseconds.")
      .def_property_readonly(
          "waiting",
          [](const StateView& v) {
            return filter(v, [](const State& s, JobId job) { return s.is_waiting(job); });
          },
          "Waiting jobs, by id (schedulers only).")
      .def_property_readonly(
          "running",
          [](const StateView& v) {
            return filter(v, [](const State& s, JobId job) { return s.is_running(job); });
          },
          "Running jobs, by id (schedulers only).")
      .def(
          "place",
          [](const StateView& v, std::int64_t job) -> std::optional<Allocation> {
            const State& state = v.state();
            Placement& placement = v.placement();
            const Request request = state.request(checked(state, job));
            Allocation allocation;
            if (!placement.place(state.occupancy(), request, allocation)) return std::nullopt;
            return allocation;
          },
          py::arg("job"), "Return the run's placement of this job on the free GPUs, or None.");
}

}  // namespace gpusched::bindings
