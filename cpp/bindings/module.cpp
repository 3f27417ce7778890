#include "bindings.hpp"

PYBIND11_MODULE(_core, m) {
  namespace bindings = gpusched::bindings;
  m.doc() = "The native core of gpusched.";
  m.attr("__version__") = GPUSCHED_VERSION;
  bindings::bind_errors(m);
  bindings::bind_data(m);
  bindings::bind_registry(m);
  bindings::bind_state(m);
  bindings::bind_order(m);
  bindings::bind_placement(m);
  bindings::bind_scheduler(m);
  bindings::bind_schedule(m);
  bindings::bind_simulation(m);
  bindings::bind_bounds(m);
  bindings::bind_plan(m);
  bindings::bind_filling(m);
  bindings::bind_deadlines(m);
  bindings::bind_deadline_parts(m);
  bindings::bind_assignment(m);
  bindings::bind_market(m);
  bindings::bind_market_parts(m);
  bindings::bind_testing(m);
  bindings::bind_timing(m);
  bindings::bind_bare_speed(m);
}
