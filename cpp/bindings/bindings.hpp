#pragma once

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>

#include "base/parameters.hpp"

namespace pybind11::detail {
template <>
struct type_caster<gpusched::NumberList> : list_caster<gpusched::NumberList, double> {};
}  // namespace pybind11::detail

namespace gpusched::bindings {

namespace py = pybind11;

void bind_errors(py::module_& m);
void bind_data(py::module_& m);
void bind_job_table(py::module_& m);
void bind_registry(py::module_& m);
void bind_allocation(py::module_& m);
void bind_state(py::module_& m);
void bind_order(py::module_& m);
void bind_placement(py::module_& m);
void bind_scheduler(py::module_& m);
void bind_schedule(py::module_& m);
void bind_over_time(py::module_& m);
void bind_run_measures(py::module_& m);
void bind_snapshot(py::module_& m);
void bind_simulation(py::module_& m);
void bind_decision(py::module_& m);
void bind_environment(py::module_& m);
void bind_speed_limits(py::module_& m);
void bind_bounds(py::module_& m);
void bind_plan(py::module_& m);
void bind_filling(py::module_& m);
void bind_deadlines(py::module_& m);
void bind_deadline_parts(py::module_& m);
void bind_planner_parts(py::module_& m);
void bind_filled_line(py::module_& m);
void bind_assignment(py::module_& m);
void bind_market(py::module_& m);
void bind_market_parts(py::module_& m);
void bind_testing(py::module_& m);
void bind_queue_parts(py::module_& m);
void bind_waiting_parts(py::module_& m);
void bind_timing(py::module_& m);
void bind_bare_speed(py::module_& m);

/// Call when all classes are registered. A class without its own pickling or copying refuses both,
/// and an object made by __new__ without __init__ is refused at the boundary, because the core
/// would read uninitialised memory.
void close_classes(const py::module_& m);

/// An integer of Python from one of 128 bits.
template <class Wide>
py::int_ exact(Wide value) {
  __extension__ typedef unsigned __int128 Bits;
  const py::int_ low(static_cast<std::uint64_t>(value));
  if (static_cast<Bits>(value) >> 64 == 0) return low;
  // A sign is that of the upper half.
  constexpr bool is_signed = static_cast<Wide>(-1) < static_cast<Wide>(1);
  const py::int_ high = is_signed ? py::int_(static_cast<std::int64_t>(value >> 64))
                                  : py::int_(static_cast<std::uint64_t>(value >> 64));
  return (high << py::int_(64)) | low;
}

}  // namespace gpusched::bindings
