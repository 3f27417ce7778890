"""Policies written in Python that every installation has: a file each, in ``schedulers/``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from gpusched.base.registry import Registry

_Seam = TypeVar("_Seam", bound=type)

BUILT_IN: Final[Registry[type]] = Registry("policy", "gpusched.plugins.schedulers")


def built_in(name: str) -> Callable[[_Seam], _Seam]:
    """Make what is decorated, a subclass of :class:`gpusched.Scheduler`, the policy ``name``."""

    def add(seam: _Seam) -> _Seam:
        BUILT_IN.add(name, seam)
        return seam

    return add
