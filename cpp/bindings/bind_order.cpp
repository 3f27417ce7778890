#include "bindings.hpp"
#include "copying.hpp"
#include "trampolines.hpp"

namespace gpusched::bindings {

void bind_order(py::module_& m) {
  py::class_<Order, PyOrder, py::smart_holder> order(
      m, "Order",
      "A queue order. Subclass it: set `lifetime` to 'fixed', 'service' or 'clock' and write\n"
      "`rank(view, jobs)`, which returns one key per job; the smallest goes first.");
  order.def(py::init<>()).def_property_readonly_static("lifetime", [](const py::object&) {
    return "fixed";
  });
  copy_by_state<Order, PyOrder>(order);
  tell_signature<Order>(order);
}

}  // namespace gpusched::bindings
