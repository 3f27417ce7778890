#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/typing.h>

namespace gpusched::bindings {

namespace py = pybind11;

/// Defines pickling and copying for classes that derive from `Seam`: `_remade` makes the object
/// without its own __init__, then it gets its __dict__ and slots, or what its __getstate__
/// returned. `Trampoline` is the class behind Python implementations; others refuse.
template <class Seam, class Trampoline, class Class>
void copy_by_state(Class& seam);

namespace detail {

using Reduced = py::typing::Tuple<py::object, py::ellipsis>;

/// The hook of pickle and copy; `base` is the class of the interface.
Reduced reduced(const py::object& plug_in, const py::type& base);
[[noreturn]] void refuse_copy(const py::object& object);

}  // namespace detail

template <class Seam, class Trampoline, class Class>
void copy_by_state(Class& seam) {
  seam.def("__reduce__", [](const py::object& self) {
    if (dynamic_cast<Trampoline*>(&self.cast<Seam&>()) == nullptr) detail::refuse_copy(self);
    return detail::reduced(self, py::type::of<Seam>());
  });
}

}  // namespace gpusched::bindings
