#include <pybind11/stl.h>

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "columns.hpp"
#include "signal_check.hpp"
#include "solvers/assignment.hpp"
#include "solvers/auction.hpp"
#include "solvers/transportation.hpp"
#include "turn.hpp"

namespace gpusched::bindings {
namespace {

using Floats = py::array_t<double>;
using JobCounts = py::array_t<std::int32_t>;
/// Column of each row, or flow; two vectors of duals; the objective.
using Solution = std::tuple<JobCounts, Floats, Floats, double>;

Solution solution_of(const Assignment::Result& found) {
  return {copy_of(found.column_of_row), copy_of(found.row_dual), copy_of(found.column_dual),
          found.cost};
}

/// Solves and lends: the costs that the solver borrowed stay as long as it does.
struct LastingAssignment : Lasting<Assignment> {
  Assignment next;  // solves a copy: a failure leaves the solver and its costs unchanged
  Column<double> cost;
  std::pair<int, int> shape{0, 0};
};

Solution solve(LastingAssignment& self, const Column<double>& cost, int rows, int columns) {
  const Turn turn(self.is_at_work);
  const auto costs = view(cost, "cost");
  SignalCheck signals;
  {
    const Listening listening(self.next, signals);
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    self.next.solve(costs, rows, columns);
  }
  Solution found = solution_of(self.next.result());
  std::swap(self.solver, self.next);
  self.cost = cost;
  self.shape = {rows, columns};
  return found;
}

Solution change_row(LastingAssignment& self, int row, const Column<double>& cost) {
  const Turn turn(self.is_at_work);
  const auto costs = view(cost, "cost");
  SignalCheck signals;
  const Listening listening(self.solver, signals);
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    self.solver.change_row(row, costs);
  }
  return solution_of(self.solver.result());
}

/// A repeated call is warm: it keeps buffers and prices.
Solution transport(Lasting<Transportation>& self, const Column<double>& value,
                   const Column<std::int32_t>& supply, const Column<std::int32_t>& capacity,
                   bool is_exact, bool is_warm) {
  const Turn turn(self.is_at_work);
  SignalCheck signals;
  const Listening listening(self.solver, signals);
  const auto values = view(value, "value");
  const auto supplies = view(supply, "supply"), room = view(capacity, "capacity");
  using enum Transportation::Supply;
  using enum Transportation::Start;
  {
    const py::gil_scoped_release unlocked;  // no Python object is touched below
    self.solver.solve(values, supplies, room, is_exact ? exactly : at_most, is_warm ? warm : cold);
  }
  const Transportation::Result& found = self.solver.result();
  return {copy_of(found.flow), copy_of(found.row_dual), copy_of(found.price), found.value};
}

}  // namespace

void bind_assignment(py::module_& m) {
  m.def(
      "assign",
      [](const Column<double>& cost, int rows, int columns) {
        const auto costs = view(cost, "cost");
        Assignment solver;
        SignalCheck signals;
        const Listening listening(solver, signals);
        {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          solver.solve(costs, rows, columns);
        }
        return solution_of(solver.result());
      },
      py::arg("cost").noconvert(), py::arg("rows"), py::arg("columns"),
      "Solve a least-cost assignment: columns by row (-1: none), row and column duals, cost.");

  py::class_<LastingAssignment>(m, "Assignment", "A least-cost assignment that can be changed.")
      .def(py::init<>())
      .def("solve", &solve, py::arg("cost").noconvert(), py::arg("rows"), py::arg("columns"),
           "As `assign`; do not modify the costs while rows are changed.")
      .def("change_row", &change_row, py::arg("row"), py::arg("cost").noconvert(),
           "Replace a row of costs and solve again.")
      .def_readonly("shape", &LastingAssignment::shape,
                    "Rows and columns of the last solved problem; (0, 0): none.");

  py::class_<Lasting<Transportation>>(
      m, "Transportation", "A transportation problem: units of rows to columns with capacities.")
      .def(py::init<>())
      .def("solve", &transport, py::arg("value").noconvert(), py::arg("supply").noconvert(),
           py::arg("capacity").noconvert(), py::arg("is_exact") = true, py::arg("is_warm") = false,
           "Flow by row, row duals, prices, value.");

  m.def(
      "auction",
      [](const Column<double>& value, const Column<std::int32_t>& demand, int items,
         double epsilon) {
        const auto values = view(value, "value");
        const auto demands = view(demand, "demand");
        Auction auction;
        SignalCheck signals;
        const Listening listening(auction, signals);
        {
          const py::gil_scoped_release unlocked;  // no Python object is touched below
          auction.solve(values, demands, items, epsilon);
        }
        const Auction::Result& found = auction.result();
        return std::tuple<JobCounts, Floats, Floats, double, double>(copy_of(found.owner),
                                                                     copy_of(found.job_dual),
                                                                     copy_of(found.price),
                                                                     found.value, found.epsilon);
      },
      py::arg("value").noconvert(), py::arg("demand").noconvert(), py::arg("items"),
      py::arg("epsilon"),
      "Owner of each item (-1: none), job duals, prices, value, and the epsilon that rounding\n"
      "allowed.");
}

}  // namespace gpusched::bindings
