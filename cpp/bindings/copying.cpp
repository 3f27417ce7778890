#include "copying.hpp"

#include <cstddef>
#include <exception>
#include <optional>
#include <string>

#include "bindings.hpp"

namespace gpusched::bindings {
namespace {

/// pybind11 would take raw memory for the object, and the core read it.
void* refuse_unmade(std::size_t /*size*/) {
  throw py::type_error("the object was never initialised: __init__ must call super().__init__()");
}

/// _remade(base, own, *args, **named): makes an object of `own`, a Python class that derives from
/// the interface `base`, without its __init__.
py::object remade(const py::tuple& args, py::handle named) {
  if (args.size() < 2 || !PyType_Check(args[0].ptr()) || !PyType_Check(args[1].ptr()) ||
      PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(args[1].ptr()),
                       reinterpret_cast<PyTypeObject*>(args[0].ptr())) == 0) {
    throw py::type_error("_remade: expected an interface and a class that derives from it");
  }
  const py::tuple own = args[py::slice(1, std::nullopt, std::nullopt)];
  const py::object make = own[0].attr("__new__");
  auto made = py::reinterpret_steal<py::object>(PyObject_Call(make.ptr(), own.ptr(), named.ptr()));
  if (!made) throw py::error_already_set();
  args[0].attr("__init__")(made);
  return made;
}

// Written by hand: pickle finds such a function by its name, but a pybind11 function by eval.
PyObject* call_remade(PyObject* /*module*/, PyObject* args, PyObject* named) {
  try {
    return remade(py::reinterpret_borrow<py::tuple>(args), named).release().ptr();
  } catch (py::error_already_set& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_TypeError, error.what());
  }
  return nullptr;
}

PyMethodDef remade_method[] = {
    {"_remade", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_remade)),
     METH_VARARGS | METH_KEYWORDS,
     "_remade(base, own, *args, **named)\n--\n\n"
     "Make an object of `own`, which derives from an interface, when unpickling or copying."},
    {nullptr, nullptr, 0, nullptr}};

void close_class(py::handle made) {
  if (!PyType_Check(made.ptr())) return;
  auto* type = reinterpret_cast<PyTypeObject*>(made.ptr());
  auto* info = py::detail::get_type_info(type);
  if (info == nullptr) return;
  info->operator_new = refuse_unmade;
  const py::dict own(made.attr("__dict__"));
  if (own.contains("__reduce__") || own.contains("__getstate__")) return;
  made.attr("__reduce__") = py::cpp_function(
      [](const py::object& self) -> py::typing::NoReturn { detail::refuse_copy(self); },
      py::name("__reduce__"), py::is_method(made));
}

}  // namespace

namespace detail {

Reduced reduced(const py::object& plug_in, const py::type& base) {
  py::tuple positional;
  py::dict named;
  if (py::hasattr(plug_in, "__getnewargs_ex__")) {
    const py::tuple both = plug_in.attr("__getnewargs_ex__")();
    positional = both[0];
    named = both[1];
  } else if (py::hasattr(plug_in, "__getnewargs__")) {
    positional = plug_in.attr("__getnewargs__")();
  }
  py::object make = py::module_::import("gpusched._core").attr("_remade");
  if (!named.empty()) {
    make = py::module_::import("functools").attr("partial")(make, **named);
  }
  const py::tuple first = py::make_tuple(base, py::type::of(plug_in));
  return Reduced(py::make_tuple(make, first + positional, plug_in.attr("__getstate__")()));
}

void refuse_copy(const py::object& object) {
  const auto name = py::type::of(object).attr("__name__").cast<std::string>();
  throw py::type_error("cannot pickle or copy '" + name +
                       "' objects of the core: they belong to this process");
}

}  // namespace detail

void close_classes(const py::module_& m) {
  if (PyModule_AddFunctions(m.ptr(), remade_method) != 0) throw py::error_already_set();
  for (const auto& [name, value] : py::dict(m.attr("__dict__"))) close_class(value);
  for (const auto& [name, value] : py::dict(m.attr("_testing").attr("__dict__"))) {
    close_class(value);
  }
}

}  // namespace gpusched::bindings
