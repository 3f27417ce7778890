#include <pybind11/stl.h>

#include "bindings.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {

void bind_scheduler(py::module_& m) {
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

  py::class_<Scheduler, PyScheduler, py::smart_holder>(
      m, "Scheduler",
      "What to hold from now on, and when to ask again. Subclass it and write\n"
      "`decide(state, finished, arrived, actions)`; `begin(state)` is called before a run.")
      .def(py::init<>());
}

}  // namespace gpusched::bindings
