#include <pybind11/stl.h>

#include "bindings.hpp"
#include "copying.hpp"
#include "scheduler_trampoline.hpp"

namespace gpusched::bindings {

void bind_scheduler(py::module_& m) {
  py::class_<ActionsView, std::shared_ptr<ActionsView>>(
      m, "Actions", "What a scheduler does; every call is checked.")
      .def(
          "start",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.actions().start(job, allocation);
          },
          py::arg("job"), py::arg("allocation"), "A waiting job starts or resumes.")
      .def(
          "preempt", [](ActionsView& v, JobId job) { v.actions().preempt(job); }, py::arg("job"),
          "A running job lets its GPUs go and waits.")
      .def(
          "suspend", [](ActionsView& v, JobId job) { v.actions().suspend(job); }, py::arg("job"),
          "As preempt, but restore can undo it within this decision.")
      .def(
          "restore", [](ActionsView& v, JobId job) { return v.actions().restore(job); },
          py::arg("job"), "Undoes suspend if the job's GPUs are still free.")
      .def(
          "resize",
          [](ActionsView& v, JobId job, const Allocation& allocation) {
            v.actions().resize(job, allocation);
          },
          py::arg("job"), py::arg("allocation"),
          "A running job goes on with other GPUs; another width than its own needs an elastic\n"
          "speed.")
      .def(
          "reallocate",
          [](ActionsView& v, const std::vector<std::pair<JobId, std::vector<Part>>>& targets) {
            return v.reallocate(targets);
          },
          py::arg("targets"),
          "Targets: (job, parts), each part GPUs of one type, by type. Running jobs that are not\n"
          "named are preempted; changed ones get GPUs anew from the run's placement; others may\n"
          "move to make room. Returns the jobs that found no place.")
      .def(
          "wake", [](ActionsView& v, std::int64_t at_us) { v.actions().wake(Time{at_us}); },
          py::arg("at_us"), "Asks for a decision at this instant.");

  py::class_<Scheduler, PyScheduler, py::smart_holder> scheduler(
      m, "Scheduler",
      "What to hold from now on, and when to ask again. Subclass it and write\n"
      "`decide(state, finished, arrived, actions)`; `begin(state)` is called before a run,\n"
      "`withdraw(job)` where a waiting job is cancelled, and `warnings()`, a list of str, after the\n"
      "run: what the result has to say.");
  scheduler.def(py::init<>());
  copy_by_state<Scheduler, PyScheduler>(scheduler);
}

}  // namespace gpusched::bindings
