#include <pybind11/stl.h>

#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "data.hpp"

namespace gpusched::bindings {
namespace {

template <class First, class... Rest>
using Behind = std::tuple<Rest...>;

#define GPUSCHED_COLUMN(name, Value, ...) , Value
/// The types of the columns' values, in the order of the table.
using Values = Behind<void GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)>;
#undef GPUSCHED_COLUMN

template <std::size_t At>
using ColumnAt = Column<std::tuple_element_t<At, Values>>;

constexpr std::size_t kNumRequired = [] {
  std::size_t number = 0;
  while (kJobColumns[number].is_required()) ++number;
  return number;
}();
constexpr std::size_t kNumOptional = kJobColumns.size() - kNumRequired;

py::arg required(const ColumnInfo& column) { return py::arg(column.name.data()).noconvert(); }
py::arg_v optional(const ColumnInfo& column) { return required(column) = py::none(); }

/// Optional columns are keyword arguments.
template <std::size_t... Required, std::size_t... Optional>
void define_constructor(py::class_<OwnedJobTable>& table, std::index_sequence<Required...>,
                        std::index_sequence<Optional...>) {
  table.def(py::init([](ColumnAt<Required>... required_columns,
                        std::optional<ColumnAt<kNumRequired + Optional>>... optional_columns,
                        py::object public_columns) {
              auto given = std::make_tuple(std::make_optional(std::move(required_columns))...,
                                           std::move(optional_columns)...);
              TraceColumns columns;
              [&given, &columns]<std::size_t... At>(std::index_sequence<At...>) {
                const auto members = std::tuple_cat(
#define GPUSCHED_COLUMN(name, ...) std::tie(columns.name),
                    GPUSCHED_JOB_COLUMNS(GPUSCHED_COLUMN)
#undef GPUSCHED_COLUMN
                        std::tuple<>{});
                ((std::get<At>(members) = std::move(std::get<At>(given))), ...);
              }(std::make_index_sequence<kJobColumns.size()>{});
              return std::make_unique<OwnedJobTable>(std::move(columns), std::move(public_columns));
            }),
            required(kJobColumns[Required])..., py::kw_only(),
            optional(kJobColumns[kNumRequired + Optional])...,
            py::arg("public_columns") = py::none());
}

const char* per_name(Per per) {
  switch (per) {
    case Per::job:
      return "job";
    case Per::job_and_end:
      return "job, and their end";
    case Per::type_set:
      return "type set";
    case Per::demand:
      return "demand";
    case Per::profile:
      return "profile";
    case Per::profile_and_type:
      return "profile x GPU type";
    case Per::count:
      return "count";
    case Per::profile_type_and_count:
      return "profile x GPU type x count";
    case Per::graph_and_end:
      return "graph, and their end";
    case Per::stage:
      return "stage";
    case Per::stage_and_type:
      return "stage x GPU type";
    case Per::dependency:
      return "dependency";
    case Per::array:
      return "array";
  }
  return "";
}

}  // namespace

void bind_job_table(py::module_& m) {
  py::class_<OwnedJobTable> table(
      m, "JobTable",
      "Jobs as borrowed columns, sorted by submit. `public_columns` has the attributes visible to\n"
      "Python plug-ins.");
  define_constructor(table, std::make_index_sequence<kNumRequired>{},
                     std::make_index_sequence<kNumOptional>{});
  table.def("__len__", [](const OwnedJobTable& jobs) { return jobs.table.num_jobs(); });

  py::class_<ColumnInfo>(m, "JobColumn", "A column of the job table; an item of JOB_COLUMNS.")
      .def_readonly("name", &ColumnInfo::name)
      .def_readonly("dtype", &ColumnInfo::dtype, "NumPy dtype; no other is accepted.")
      .def_readonly("unit", &ColumnInfo::unit)
      .def_property_readonly(
          "per", [](const ColumnInfo& c) { return per_name(c.per); },
          "Dimensions of the column, row-major (last varies fastest).")
      .def_property_readonly("is_required", &ColumnInfo::is_required)
      .def_property_readonly(
          "rule", [](const ColumnInfo& c) { return c.range.rule; }, "Allowed values.")
      .def_readonly("text", &ColumnInfo::text, "Meaning of the column.")
      .def("__repr__",
           [](const ColumnInfo& c) { return "JobColumn(" + std::string(c.name) + ")"; });
  py::tuple columns(kJobColumns.size());
  for (std::size_t at = 0; at < kJobColumns.size(); ++at) {
    columns[at] = py::cast(kJobColumns[at], py::return_value_policy::reference);
  }
  m.attr("JOB_COLUMNS") = columns;
}

}  // namespace gpusched::bindings
