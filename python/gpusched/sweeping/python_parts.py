"""What of a study is written in Python, which threads run one at a time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gpusched.base.run_warning import warn
from gpusched.plugins.policy import Choice
from gpusched.sweeping.choices import PLURALS, named
from gpusched.sweeping.expansion import Expansion, PlannedRun
from gpusched.sweeping.spec_parts import ROLES
from gpusched.sweeping.study import Study

_ROLES: Final = ("policy", "placement")
_LONG_S: Final = 5.0
_HINT: Final = (
    'written in Python, which threads run one at a time; gs.sweep(..., executor="processes") runs '
    'one for each CPU, from a script whose main part is under `if __name__ == "__main__":`'
)


def python_parts(study: Study) -> list[str]:
    """Return the labels of the policies and placements that are written in Python.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown.
    """
    return [
        one.label
        for role in _ROLES
        for one in named(role, getattr(study, PLURALS[role]), study.parameters)
        if not (isinstance(one.choice, Choice) and one.choice.info.is_native)
    ]


class PythonTime:
    """How long runs in threads were in Python; warns once when that is long.

    Parameters
    ----------
    executor
        What the user gave: who chose threads is not told of processes.
    """

    def __init__(self, study: Study, executor: Any) -> None:
        self._parts = frozenset(python_parts(study)) if executor is None else frozenset()
        self._spent_s = 0.0

    def add(self, plan: Expansion, done: Iterable[tuple[PlannedRun, float | None]]) -> None:
        """Count runs with the seconds that they took; None: they failed."""
        if not self._parts:
            return
        roles = [ROLES.index(role) for role in _ROLES]
        for run, wall_s in done:
            labels = {plan.named[at][run.choices[at]].label for at in roles}
            if wall_s is not None and labels & self._parts:
                self._spent_s += wall_s
        if self._spent_s > _LONG_S:
            warn([f"{', '.join(sorted(self._parts))}: {_HINT}"], stacklevel=4)
            self._parts = frozenset()
