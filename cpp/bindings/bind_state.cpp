#include <pybind11/stl.h>

#include "bindings.hpp"
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
  py::array_t<std::int64_t> out(jobs.size());
  std::int64_t* data = out.mutable_data();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    data[i] = value(state, checked(state, ids[i])).count();
  }
  return out;
}

template <class Test>
py::array_t<std::int64_t> filter(const StateView& view, Test test) {
  const State& state = view.state();
  if (view.placement == nullptr) throw InvalidInput("only a scheduler's state lists jobs");
  std::vector<JobId> jobs;
  for (const JobId job : view.active()) {
    if (test(state, job)) jobs.push_back(job);
  }
  return job_array(jobs);
}

}  // namespace

void bind_state(py::module_& m) {
  using I64 = Column<std::int64_t>;
  py::class_<Allocation>(m, "Allocation", "GPUs of a gang: (server, mask) pairs, none in a pool.")
      .def(py::init([](int gpus, const std::vector<std::pair<ServerId, GpuMask>>& pieces) {
             Allocation allocation;
             allocation.reset(gpus);
             for (const auto& [server, mask] : pieces) allocation.pieces.push_back({server, mask});
             return allocation;
           }),
           py::arg("gpus"), py::arg("pieces") = std::vector<std::pair<ServerId, GpuMask>>{})
      .def_readonly("gpus", &Allocation::gpus)
      .def_property_readonly("pieces", [](const Allocation& allocation) {
        std::vector<std::pair<ServerId, GpuMask>> pieces;
        for (const Piece& piece : allocation.pieces) pieces.emplace_back(piece.server, piece.mask);
        return pieces;
      });

  py::class_<StateView>(m, "State", "What a scheduler or an order may see of a run.")
      .def_property_readonly("now_us", [](const StateView& v) { return v.state().now().count(); })
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
            const State& state = v.state();
            std::vector<double> ones;
            auto weight = state.jobs().columns().weight;
            if (weight.empty()) {
              ones.assign(state.jobs().num_jobs(), 1.0);
              weight = ones;
            }
            return v.column(weight, "weight");
          },
          "Weight of every job of the trace.")
      .def(
          "remaining_us",
          [](const StateView& v, const I64& jobs) {
            return gather(v, jobs, [](const State& s, JobId job) { return s.remaining(job); });
          },
          py::arg("jobs"), "Predicted work left, in microseconds of service, at least 1.")
      .def(
          "attained_us",
          [](const StateView& v, const I64& jobs) {
            return gather(v, jobs, [](const State& s, JobId job) { return s.attained(job); });
          },
          py::arg("jobs"), "Service received so far, in microseconds.")
      .def_property_readonly(
          "waiting",
          [](const StateView& v) {
            return filter(v, [](const State& s, JobId job) { return s.is_waiting(job); });
          },
          "Jobs that wait, by id (schedulers only).")
      .def_property_readonly(
          "running",
          [](const StateView& v) {
            return filter(v, [](const State& s, JobId job) { return s.is_running(job); });
          },
          "Jobs that run, by id (schedulers only).")
      .def(
          "place",
          [](StateView& v, std::int64_t job) -> std::optional<Allocation> {
            const State& state = v.state();
            if (v.placement == nullptr) throw InvalidInput("only a scheduler's state places");
            const Request request = state.request(checked(state, job));
            if (!v.placement->place(state.occupancy(), request, v.allocation)) {
              return std::nullopt;
            }
            return v.allocation;
          },
          py::arg("job"), "The run's placement for this job on the free GPUs, or None.");

  py::class_<ActionsView>(m, "Actions", "What a scheduler does; every call is checked.")
      .def(
          "start",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.get().start(job, allocation);
          },
          py::arg("job"), py::arg("allocation"), "A waiting job starts or resumes.")
      .def(
          "preempt", [](ActionsView& v, JobId job) { v.get().preempt(job); }, py::arg("job"),
          "A running job lets its GPUs go and waits.")
      .def(
          "suspend", [](ActionsView& v, JobId job) { v.get().suspend(job); }, py::arg("job"),
          "As preempt, but restore can undo it within this decision.")
      .def(
          "restore", [](ActionsView& v, JobId job) { return v.get().restore(job); },
          py::arg("job"), "Undoes suspend if the job's GPUs are still free.")
      .def(
          "resize",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.get().resize(job, allocation);
          },
          py::arg("job"), py::arg("allocation"),
          "Changes a running job's allocation; a ValueError under the fixed speed.")
      .def(
          "wake", [](ActionsView& v, std::int64_t at_us) { v.get().wake(Time{at_us}); },
          py::arg("at_us"), "Asks for a decision at this instant.");
}

void bind_order(py::module_& m) {
  py::class_<Order, PyOrder, py::smart_holder>(
      m, "Order",
      "Which job first? Subclass it: set `lifetime` to 'fixed', 'service' or 'clock' and write\n"
      "`rank(view, jobs)`, which returns one key per job; the smallest goes first.")
      .def(py::init<>())
      .def_property_readonly_static("lifetime", [](const py::object&) { return "fixed"; });
}

void bind_placement(py::module_& m) {
  py::class_<Request>(m, "Request", "A gang that wants GPUs.")
      .def_readonly("job", &Request::job)
      .def_readonly("gpus", &Request::gpus)
      .def_readonly("types", &Request::types, "One bit per allowed GPU type.")
      .def_readonly("preemptions", &Request::preemptions);
  py::class_<FreeView, std::shared_ptr<FreeView>>(m, "FreeGpus", "Which GPUs are free.")
      .def_property_readonly(
          "free_gpus",
          [](const FreeView& v) {
            const Occupancy& free = v.get();
            py::array_t<std::int32_t> out(free.cluster().num_servers());
            for (ServerId s = 0; s < free.cluster().num_servers(); ++s) {
              out.mutable_data()[s] = free.free_gpus(s);
            }
            return out;
          },
          "Free GPUs of each server.")
      .def_property_readonly(
          "server_gpus",
          [](const FreeView& v) {
            const Cluster& cluster = v.get().cluster();
            py::array_t<std::int32_t> out(cluster.num_servers());
            for (ServerId s = 0; s < cluster.num_servers(); ++s) {
              out.mutable_data()[s] = cluster.gpus(s);
            }
            return out;
          },
          "GPUs of each server.")
      .def_property_readonly(
          "server_type",
          [](const FreeView& v) {
            const Cluster& cluster = v.get().cluster();
            py::array_t<std::int32_t> out(cluster.num_servers());
            for (ServerId s = 0; s < cluster.num_servers(); ++s) {
              out.mutable_data()[s] = cluster.type(s);
            }
            return out;
          },
          "GPU type of each server, as a bit position of `Request.types`.")
      .def(
          "lowest_free",
          [](const FreeView& v, ServerId server, int count) {
            const Occupancy& free = v.get();
            if (server < 0 || server >= free.cluster().num_servers()) {
              throw py::index_error("there is no server " + std::to_string(server));
            }
            if (count < 0 || count > free.free_gpus(server)) {
              throw InvalidInput("server " + std::to_string(server) + " has " +
                                 std::to_string(free.free_gpus(server)) + " free GPUs, not " +
                                 std::to_string(count));
            }
            return free.lowest_free(server, count).mask;
          },
          py::arg("server"), py::arg("count"), "Mask of the lowest free GPUs of a server.");
  py::class_<Placement, PyPlacement, py::smart_holder>(
      m, "Placement",
      "On which GPUs, or not yet? Subclass it and write `place(free, request)`, which returns\n"
      "[(server, mask), ...] in server order for the whole gang, or None.")
      .def(py::init<>())
      .def("begin", &Placement::begin, py::arg("seed"));
}

void bind_scheduler(py::module_& m) {
  py::class_<Scheduler, PyScheduler, py::smart_holder>(
      m, "Scheduler",
      "What to hold from now on, and when to ask again. Subclass it and write\n"
      "`decide(state, finished, arrived, actions)`; `begin(state)` is called before a run.")
      .def(py::init<>());
}

}  // namespace gpusched::bindings
