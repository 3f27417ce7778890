#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gpusched::bindings {

namespace py = pybind11;

/// A one-dimensional, contiguous NumPy array of exactly this type. Arguments of this type are
/// marked noconvert: another dtype is a TypeError and never a silent copy.
template <class Value>
using Column = py::array_t<Value, py::array::c_style>;

/// Borrows a column's buffer; the caller keeps the array alive.
template <class Value>
std::span<const Value> view(const Column<Value>& column, const char* name) {
  if (column.ndim() != 1) {
    throw py::type_error(std::string(name) + ": must have one dimension, has " +
                         std::to_string(column.ndim()));
  }
  if ((column.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) == 0) {
    throw py::type_error(std::string(name) + ": its memory must be aligned");
  }
  return {column.data(), static_cast<std::size_t>(column.size())};
}

template <class Value>
std::span<const Value> view(const std::optional<Column<Value>>& column, const char* name) {
  return column ? view(*column, name) : std::span<const Value>{};
}

/// Releases the GIL for the rest of the scope if a pass over this many values takes longer than
/// releasing and reacquiring it.
class UnlockedPass {
 public:
  explicit UnlockedPass(std::size_t num_values) {
    if (num_values >= kMany) unlocked_.emplace();
  }

 private:
  static constexpr std::size_t kMany = 4'000;
  std::optional<py::gil_scoped_release> unlocked_;
};

/// Hands a vector over to Python: the array owns it through a capsule.
template <class Value>
py::array_t<Value> column_of(std::vector<Value> values) {
  auto owner = std::make_unique<std::vector<Value>>(std::move(values));
  Value* data = owner->data();
  const auto size = static_cast<py::ssize_t>(owner->size());
  py::capsule capsule(owner.get(),
                      [](void* pointer) { delete static_cast<std::vector<Value>*>(pointer); });
  owner.release();
  return py::array_t<Value>({size}, {static_cast<py::ssize_t>(sizeof(Value))}, data, capsule);
}

/// An array of `get(index)` values.
template <class Value, class Get>
py::array_t<Value> collect(std::size_t count, Get get) {
  py::array_t<Value> column(static_cast<py::ssize_t>(count));
  Value* const values = column.mutable_data();
  {
    const UnlockedPass unlocked(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = get(i);
  }
  return column;
}

template <class Value>
py::array_t<Value> copy_of(const std::vector<Value>& values) {
  return collect<Value>(values.size(), [&](std::size_t i) { return values[i]; });
}

/// Returns an array of `get(index)` values that can never be made writable: a capsule, which owns
/// it, lends no memory.
template <class Value, class Get>
py::array_t<Value> read_only_column(std::size_t count, Get get) {
  auto values = std::make_unique_for_overwrite<Value[]>(count);
  {
    const UnlockedPass unlocked(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = get(i);
  }
  Value* const data = values.get();
  py::capsule capsule(data, [](void* pointer) { delete[] static_cast<Value*>(pointer); });
  values.release();
  py::array_t<Value> column({static_cast<py::ssize_t>(count)},
                            {static_cast<py::ssize_t>(sizeof(Value))}, data, capsule);
  py::detail::array_proxy(column.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return column;
}

}  // namespace gpusched::bindings
