#pragma once

#include <pybind11/pybind11.h>

namespace gpusched::bindings {

namespace py = pybind11;

/// How an object of a class that derives from `Seam` is pickled and copied: `remade` makes it
/// without its own __init__, and then it gets its __dict__ and slots, or what its __getstate__
/// returned. Trampoline: what stands in for the seam where Python implements it; others refuse.
template <class Seam, class Trampoline, class Class>
void copy_by_state(Class& seam);

/// To be called when all classes are there. A class that does not say how its objects are pickled
/// or copied refuses both, and an object made by __new__ without __init__ is refused wherever it
/// is handed to the core, which would read it as if it were there.
void close_classes(const py::module_& m);

namespace detail {

/// What pickle and copy call; `base` is the class of the seam.
py::tuple reduced(const py::object& plug_in, const py::type& base);
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
