"""What of a study is written in Python, which threads run one at a time."""

from __future__ import annotations

from typing import Final

from gpusched.plugins.policy import Choice
from gpusched.sweeping.choices import PLURALS, named
from gpusched.sweeping.study import Study

_ROLES: Final = ("policy", "placement")


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
