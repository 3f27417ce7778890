#include "bindings.hpp"

namespace {

namespace py = pybind11;

constexpr const char* kMainInterpreterOnly =
    "gpusched._core works only in the main interpreter of a process: the whole process shares "
    "its registries and their Python objects";

bool is_main_interpreter() { return PyInterpreterState_Get() == PyInterpreterState_Main(); }

}  // namespace

// Sub-interpreters are refused. The GIL stays: what a view shows, the one run that a scheduler of
// Python serves and the solvers that keep prices between calls are guarded by nothing else. A run
// of native plug-ins releases it, so threads run in parallel all the same. In the other order
// pybind11 3.1 does not compile from Python 3.12 on.
PYBIND11_MODULE(_core_of_main, m, py::mod_gil_used(), py::multiple_interpreters::not_supported()) {
  // Reached where an interpreter does not look at what the module declares.
  if (!is_main_interpreter()) throw py::import_error(kMainInterpreterOnly);
  namespace bindings = gpusched::bindings;
  m.doc() = "The native core of gpusched.";
  m.attr("__version__") = GPUSCHED_VERSION;
  bindings::bind_errors(m);
  bindings::bind_data(m);
  bindings::bind_job_table(m);
  bindings::bind_registry(m);
  bindings::bind_allocation(m);
  bindings::bind_state(m);
  bindings::bind_order(m);
  bindings::bind_placement(m);
  bindings::bind_scheduler(m);
  bindings::bind_schedule(m);
  bindings::bind_run_measures(m);
  bindings::bind_over_time(m);
  bindings::bind_snapshot(m);
  bindings::bind_simulation(m);
  bindings::bind_decision(m);
  bindings::bind_environment(m);
  bindings::bind_speed_limits(m);
  bindings::bind_bounds(m);
  bindings::bind_plan(m);
  bindings::bind_filling(m);
  bindings::bind_deadlines(m);
  bindings::bind_deadline_parts(m);
  bindings::bind_planner_parts(m);
  bindings::bind_filled_line(m);
  bindings::bind_assignment(m);
  bindings::bind_market(m);
  bindings::bind_market_parts(m);
  bindings::bind_testing(m);
  bindings::bind_queue_parts(m);
  bindings::bind_waiting_parts(m);
  bindings::bind_timing(m);
  bindings::bind_bare_speed(m);
  bindings::close_classes(m);
}

// Where Python has no means to declare it (before 3.12), pybind11 would wait for a GIL that the
// sub-interpreter holds already: the refusal has to come before anything of pybind11's.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core();
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
  if (!is_main_interpreter()) {
    PyErr_SetString(PyExc_ImportError, kMainInterpreterOnly);
    return nullptr;
  }
  return PyInit__core_of_main();
}
