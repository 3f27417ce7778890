"""A solver that keeps its duals: after any row of changes it finds what SciPy finds anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from scipy.optimize import linear_sum_assignment

from gpusched.base.arrays import Float64
from gpusched.online.assignment import AssignmentSolver, Matching
from tests.examples import examples

# Few distinct costs: ties are the interesting case.
costs = st.integers(-2, 3).map(float) | st.sampled_from([100.0, np.inf])


class AssignmentMachine(RuleBasedStateMachine):
    @initialize(rows=st.integers(1, 6), more=st.integers(0, 3))
    def begin(self, rows: int, more: int) -> None:
        self.solver = AssignmentSolver()
        self.cost = np.zeros((rows, rows + more))
        self.agree(self.solver.solve(self.cost))

    def draw_row(self, data: st.DataObject) -> Float64:
        width = self.cost.shape[1]
        return np.array(data.draw(st.lists(costs, min_size=width, max_size=width), "costs"))

    def optimum(self, cost: Float64) -> float | None:
        try:
            return float(cost[linear_sum_assignment(cost)].sum())
        except ValueError:
            return None

    def agree(self, found: Matching) -> None:
        assert found.cost == self.optimum(self.cost)
        assert self.cost[found.rows, found.columns].sum() == found.cost
        slack = self.cost - found.row_dual[:, None] - found.column_dual
        assert slack.min() >= 0
        assert (slack[found.rows, found.columns] == 0).all()

    @rule(data=st.data())
    def change_a_row(self, data: st.DataObject) -> None:
        """A row after which nothing is possible is refused, and the solver begins anew."""
        row = data.draw(st.integers(0, len(self.cost) - 1), "row")
        changed = self.cost.copy()
        changed[row] = self.draw_row(data)
        if self.optimum(changed) is None:
            with pytest.raises(ValueError, match=r"."):
                self.solver.change_row(row, changed[row])
            self.agree(self.solver.solve(self.cost))
        else:
            self.cost = changed
            self.agree(self.solver.change_row(row, changed[row]))

    @rule(data=st.data())
    def solve_another(self, data: st.DataObject) -> None:
        another = np.array([self.draw_row(data) for _ in self.cost])
        if self.optimum(another) is not None:
            self.cost = another
            self.agree(self.solver.solve(another))


TestAssignment = AssignmentMachine.TestCase
TestAssignment.settings = examples(15, stateful_step_count=20)
