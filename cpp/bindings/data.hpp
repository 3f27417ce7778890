#pragma once

#include <optional>
#include <utility>

#include "columns.hpp"
#include "model/job_table.hpp"

namespace gpusched::bindings {

template <class Value>
using GivenColumn = std::optional<Column<Value>>;

/// The arrays of a trace, kept alive for the table that borrows them.
using TraceColumns = PerColumn<GivenColumn>;

/// Throws TypeError that names the column.
[[nodiscard]] inline JobColumns borrowed(const TraceColumns& given) {
  JobColumns columns;
  for_each_column([](const ColumnInfo& info, const auto& array,
                     auto& values) { values = view(array, info.name.data()); },
                  given, columns);
  return columns;
}

/// A job table with the extra columns for Python plug-ins: user, queue and the like, which the core
/// does not read. Every run from Python uses one.
struct ShownJobTable : JobTable {
  ShownJobTable(JobTable table, py::object shown)
      : JobTable(std::move(table)), public_columns(std::move(shown)) {}

  py::object public_columns;
};

/// A job table and the arrays it borrows.
struct OwnedJobTable {
  OwnedJobTable(TraceColumns given, py::object shown)
      : columns(std::move(given)), table(checked(columns), std::move(shown)) {}

  TraceColumns columns;
  ShownJobTable table;

 private:
  static JobTable checked(const TraceColumns& given) {
    const JobColumns columns = borrowed(given);
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    return JobTable(columns);
  }
};

}  // namespace gpusched::bindings
