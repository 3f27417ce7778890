"""Programs that begin where the last one of a run ended, with HiGHS's own package ``highspy``.

Another start may end at another answer. It is taken only where no answer is as good, so that
whether the package is installed decides how long a run takes, and nothing else. Such are most
programs of ``max-min`` that break ties, for jobs that cannot be told apart share a row there; under
``ftf`` and ``makespan`` half of the programs would be solved twice.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

import numpy as np

from gpusched.base.libraries import is_installed
from gpusched.base.supervision import attended

Array = np.ndarray[Any, Any]

# Ten times what HiGHS takes for no reduced cost.
_CLEAR: Final = 1e-6
# Another way to the same corner differs by rounding alone, of some 1e-13.
_APART: Final = 1e-9
_TRIES: Final = 20

_Name = tuple[bytes, int]


class WarmStarts:
    """Where the last program of a run ended: which columns and rows were basic.

    Nothing of the solver is kept, so a run may be copied.

    Attributes
    ----------
    num_tried, num_certain
        Programs, and those of which the answer could be taken.
    """

    def __init__(self) -> None:
        self.num_tried = self.num_certain = 0
        # Of each job its time on each type, its row of time and its row of gain.
        self._jobs: dict[_Name, list[bool]] = {}
        self._types: list[bool] = []

    def answer(
        self, gain: Array, gpus: Array, cost: Array, matrix: Any, bound: Array
    ) -> Array | None:
        """Minimise the cost of a program of levels, with nothing below 0.

        None if there is no solution, if another one might be as good or be rounded otherwise, or
        if that was so of most programs until now, for then it would be tried in vain.
        """
        if self.num_tried >= _TRIES and 2 * self.num_certain < self.num_tried:
            return None
        self.num_tried += 1
        names = _names(gain, gpus)
        columns, rows = self._start(names, gain.shape[1])
        solution = attended(lambda: _solution(cost, matrix, bound, columns, rows))
        if solution is None:
            return None
        answer, reduced, columns, rows = solution
        self._keep(names, gain.shape[1], columns, rows)
        is_basic = np.array(columns + rows)
        if reduced[~is_basic].min() < _CLEAR or _is_near_a_border(answer[:-1]):
            return None
        self.num_certain += 1
        return answer

    def _start(self, names: list[_Name], types: int) -> tuple[list[bool], list[bool]]:
        """Return what was basic; jobs that are new have all time left, and more than the level."""
        if not self._types:
            return [], []
        new = [False] * types + [True, True]
        jobs = [self._jobs.get(name, new) for name in names]
        columns = [is_basic for job in jobs for is_basic in job[:types]]
        rows = [job[types] for job in jobs] + self._types + [job[types + 1] for job in jobs]
        return [*columns, True], rows

    def _keep(self, names: list[_Name], types: int, columns: list[bool], rows: list[bool]) -> None:
        num = len(names)
        self._types = rows[num : num + types]
        self._jobs = {
            name: [*columns[at * types : (at + 1) * types], rows[at], rows[num + types + at]]
            for at, name in enumerate(names)
        }


def warm_starts() -> WarmStarts | None:
    """Return what a run begins with, if the package is there."""
    return WarmStarts() if is_installed("highspy") else None


def _names(gain: Array, gpus: Array) -> list[_Name]:
    """Name jobs by what they are and the how-manieth of that kind: the start alone needs names."""
    met: Counter[bytes] = Counter()
    names = []
    for row in np.column_stack([gain, gpus]):
        kind = row.tobytes()
        names.append((kind, met[kind]))
        met[kind] += 1
    return names


def _solution(
    cost: Array, matrix: Any, bound: Array, columns: list[bool], rows: list[bool]
) -> tuple[Array, Array, list[bool], list[bool]] | None:
    """Solve from what was basic: what is best, its reduced costs, and what is basic then."""
    import highspy

    # `highspy.Highs` prints the solver's name before it can be told not to; what it is made of does
    # not, but need not be there in every version.
    solver = getattr(highspy, "_Highs", highspy.Highs)()
    solver.setOptionValue("output_flag", False)
    solver.passModel(_model(cost, matrix, bound))
    status = highspy.HighsBasisStatus
    if columns:
        basis = highspy.HighsBasis()
        basis.col_status = [status.kBasic if basic else status.kLower for basic in columns]
        basis.row_status = [status.kBasic if basic else status.kUpper for basic in rows]
        # As many need not be basic as there are rows: some jobs left.
        basis.valid = basis.alien = True
        solver.setBasis(basis)
    solver.run()
    if solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    found, basis = solver.getSolution(), solver.getBasis()
    return (
        np.array(found.col_value),
        np.abs(np.concatenate([found.col_dual, found.row_dual])),
        [at == status.kBasic for at in basis.col_status],
        [at == status.kBasic for at in basis.row_status],
    )


def _model(cost: Array, matrix: Any, bound: Array) -> Any:
    import highspy

    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = model.a_matrix_.num_row_, model.a_matrix_.num_col_ = (
        matrix.shape
    )
    model.col_cost_ = cost
    model.col_lower_, model.col_upper_ = np.zeros(len(cost)), np.full(len(cost), np.inf)
    model.row_lower_, model.row_upper_ = np.full(len(bound), -np.inf), bound
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_, model.a_matrix_.index_ = matrix.indptr, matrix.indices
    model.a_matrix_.value_ = matrix.data
    return model


def _is_near_a_border(fractions: Array) -> bool:
    """Whether a little more or less is another number in six digits."""
    millionths = fractions * 1e6
    off = np.abs(millionths - np.floor(millionths) - 0.5)
    return bool(off.min() < _APART * 1e6)
